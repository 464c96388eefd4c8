// An OCI image layout as a directory, and the same as one archive that `ctr images import`, `podman load` and
// `skopeo copy oci-archive:` read. The same layers give the same bytes.

import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type TarFile, writeTar } from './tar.ts';

export interface Layer {
  /** For the image's history. */
  readonly comment: string;
  readonly files: readonly TarFile[];
}

export interface Image {
  /** With tag, as in berth:0.1.0. */
  readonly name: string;
  readonly layers: readonly Layer[];
  readonly user: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  annotations?: Record<string, string>;
  platform?: { architecture: string; os: string };
}

const MEDIA = 'application/vnd.oci.image';
const GZIP_LEVEL = 9;
export const architecture = process.arch === 'x64' ? 'amd64' : process.arch;

/** Writes `directory` and `directory`.tar, and returns the size of each image as it is sent over a network. */
export function writeLayout(
  directory: string,
  images: readonly Image[],
  seconds: number,
): Map<string, number> {
  const blobs = new Map<string, Buffer>();
  const store = (mediaType: string, data: Buffer): Descriptor => {
    const digest = createHash('sha256').update(data).digest('hex');
    blobs.set(digest, data);
    return { mediaType, digest: `sha256:${digest}`, size: data.length };
  };
  const packed = new Map<Layer, { descriptor: Descriptor; diffId: string }>();
  const pack = (layer: Layer): { descriptor: Descriptor; diffId: string } => {
    const known = packed.get(layer);
    if (known) return known;
    const tar = writeTar(withDirectories(layer.files), seconds);
    const diffId = `sha256:${createHash('sha256').update(tar).digest('hex')}`;
    const descriptor = store(`${MEDIA}.layer.v1.tar+gzip`, gzipSync(tar, { level: GZIP_LEVEL }));
    packed.set(layer, { descriptor, diffId });
    return { descriptor, diffId };
  };
  const sizes = new Map<string, number>();
  const manifests = images.map((image) => {
    const layers = image.layers.map(pack);
    const config = store(`${MEDIA}.config.v1+json`, json(configOf(image, layers, seconds)));
    const manifest = {
      schemaVersion: 2,
      mediaType: `${MEDIA}.manifest.v1+json`,
      config,
      layers: layers.map(({ descriptor }) => descriptor),
    };
    sizes.set(
      image.name,
      manifest.layers.reduce((sum, { size }) => sum + size, config.size),
    );
    return {
      ...store(manifest.mediaType, json(manifest)),
      platform: { architecture, os: 'linux' },
      annotations: {
        'io.containerd.image.name': `docker.io/library/${image.name}`,
        'org.opencontainers.image.ref.name': image.name,
      },
    };
  });
  const files: TarFile[] = [
    file('oci-layout', json({ imageLayoutVersion: '1.0.0' })),
    file('index.json', json({ schemaVersion: 2, mediaType: `${MEDIA}.index.v1+json`, manifests })),
    ...[...blobs].map(([digest, data]) => file(`blobs/sha256/${digest}`, data)),
  ];
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(directory, 'blobs/sha256'), { recursive: true });
  for (const { path, data = '' } of files) writeFileSync(join(directory, path), data);
  writeFileSync(`${directory}.tar`, writeTar(withDirectories(files), seconds));
  return sizes;
}

function configOf(
  { layers, user, labels }: Image,
  packed: readonly { diffId: string }[],
  seconds: number,
): object {
  const created = new Date(seconds * 1000).toISOString();
  return {
    created,
    architecture,
    os: 'linux',
    config: {
      User: user,
      Env: ['PATH=/usr/sbin:/usr/bin'],
      Entrypoint: ['berth'],
      Labels: labels,
    },
    rootfs: { type: 'layers', diff_ids: packed.map(({ diffId }) => diffId) },
    history: layers.map(({ comment }) => ({ created, created_by: 'npm run image', comment })),
  };
}

/** Sorted, each after the directories that it is in. */
export function withDirectories(files: readonly TarFile[]): TarFile[] {
  const all = new Map<string, TarFile>();
  for (const each of files) {
    for (let at = each.path.lastIndexOf('/'); at > 0; at = each.path.lastIndexOf('/', at - 1)) {
      const path = each.path.slice(0, at);
      if (!all.has(path)) all.set(path, { path, type: 'directory', mode: 0o755 });
    }
    all.set(each.path, each);
  }
  // A hard link comes after the file that it is to.
  const rank = ({ type }: TarFile): number => (type === 'hardlink' ? 1 : 0);
  return [...all.values()].sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
}

export const file = (path: string, data: Buffer | string, mode = 0o644): TarFile => ({
  path,
  type: 'file',
  mode,
  data: Buffer.from(data),
});

const json = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`);
