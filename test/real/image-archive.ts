// Container images for machines without a registry: an archive as `docker save` writes it, with one layer of given files.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

export interface ArchivedImage {
  /** With tag. */
  readonly names: readonly string[];
  /** Path in the image to a file of this machine. */
  readonly files: Readonly<Record<string, string>>;
  readonly links?: Readonly<Record<string, string>>;
  readonly directories?: readonly string[];
  readonly config: { Entrypoint?: string[]; Cmd?: string[]; Env?: string[] };
}

const BLOCK = 512;
const digestOf = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

export function writeImageArchive(path: string, image: ArchivedImage): void {
  const layer = Buffer.concat([
    ...(image.directories ?? []).map((name) => entry({ name, type: '5', mode: 0o777 })),
    ...Object.entries(image.files).map(([name, file]) =>
      entry({ name, type: '0', mode: 0o755, data: readFileSync(file) }),
    ),
    ...Object.entries(image.links ?? {}).map(([name, target]) =>
      entry({ name, type: '2', mode: 0o777, target }),
    ),
    Buffer.alloc(2 * BLOCK),
  ]);
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: image.config,
      rootfs: { type: 'layers', diff_ids: [`sha256:${digestOf(layer)}`] },
    }),
  );
  const named = `${digestOf(config)}.json`;
  const manifest = Buffer.from(
    JSON.stringify([{ Config: named, RepoTags: image.names, Layers: ['layer.tar'] }]),
  );
  writeFileSync(
    path,
    Buffer.concat([
      entry({ name: named, type: '0', mode: 0o644, data: config }),
      entry({ name: 'layer.tar', type: '0', mode: 0o644, data: layer }),
      entry({ name: 'manifest.json', type: '0', mode: 0o644, data: manifest }),
      Buffer.alloc(2 * BLOCK),
    ]),
  );
}

/** One file in the ustar format. */
function entry(file: { name: string; type: string; mode: number; data?: Buffer; target?: string }): Buffer {
  const { name, type, mode, data = Buffer.alloc(0), target = '' } = file;
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number): void => {
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at);
  };
  header.write(name, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(data.length, 124, 12);
  octal(0, 136, 12);
  header.write(' '.repeat(8), 148);
  header.write(type, 156);
  header.write(target, 157);
  header.write('ustar\x0000', 257);
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  const padding = Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK);
  return Buffer.concat([header, data, padding]);
}
