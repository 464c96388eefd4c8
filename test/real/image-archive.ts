// Container images for machines without a registry: an archive as `docker save` writes it, with one layer of given files.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { architecture, file } from '../../scripts/image/oci-layout.ts';
import { type TarFile, writeTar } from '../../scripts/image/tar.ts';

export interface ArchivedImage {
  /** With tag. */
  readonly names: readonly string[];
  /** Path in the image to a file of this machine. */
  readonly files: Readonly<Record<string, string>>;
  readonly links?: Readonly<Record<string, string>>;
  readonly directories?: readonly string[];
  readonly config: { Entrypoint?: string[]; Cmd?: string[]; Env?: string[] };
}

const digestOf = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

export function writeImageArchive(path: string, image: ArchivedImage): void {
  const layer = tar([
    ...(image.directories ?? []).map((name): TarFile => ({ path: name, type: 'directory', mode: 0o777 })),
    ...Object.entries(image.files).map(([name, from]) => file(name, readFileSync(from), 0o755)),
    ...Object.entries(image.links ?? {}).map(
      ([name, target]): TarFile => ({ path: name, type: 'symlink', mode: 0o777, target }),
    ),
  ]);
  const config = JSON.stringify({
    architecture,
    os: 'linux',
    config: image.config,
    rootfs: { type: 'layers', diff_ids: [`sha256:${digestOf(layer)}`] },
  });
  const named = `${digestOf(Buffer.from(config))}.json`;
  const manifest = JSON.stringify([{ Config: named, RepoTags: image.names, Layers: ['layer.tar'] }]);
  writeFileSync(path, tar([file(named, config), file('layer.tar', layer), file('manifest.json', manifest)]));
}

const tar = (files: readonly TarFile[]): Buffer => writeTar(files, 0);
