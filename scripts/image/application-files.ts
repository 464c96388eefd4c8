// What of this project goes into the image: the compiled program, its production dependencies without types, sources and
// documentation, and the Node that the lock file names.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { projectRoot } from '../source-files.ts';
import type { TarFile } from './tar.ts';

const HOME = 'usr/lib/berth';
const PROGRAM = `${HOME}/bin/berth`;
const NODE = 'usr/bin/node';

export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

interface Lock {
  packages: Record<
    string,
    { version: string; license?: string; dev?: boolean; os?: string[]; cpu?: string[] }
  >;
}

/** Packages that only the compiler reads. */
const TYPES_ONLY = ['kubernetes-types'];
const NOTHING = /^$/;
const TYPES = /\.d\.ts$/;
/** Types, sources and documentation of packages. Licences stay. */
const NOT_RUN = /\.(?:d\.[cm]?ts|ts|map|md|flow|cc?|hh?|S|asm)$/;

export function npmPackages(): NpmPackage[] {
  const lock = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8')) as Lock;
  return Object.entries(lock.packages).flatMap(
    ([path, { version, license = 'NOASSERTION', dev, os, cpu }]) => {
      const name = path.replace(/^node_modules\//, '');
      const isElsewhere = !(os?.includes(process.platform) ?? true) || !(cpu?.includes(process.arch) ?? true);
      return path === '' || dev || isElsewhere || TYPES_ONLY.includes(name)
        ? []
        : [{ name, version, license }];
    },
  );
}

export function nodePackage(): NpmPackage {
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'node_modules/node/package.json'), 'utf8'));
  return { name: 'node', version, license: 'MIT' };
}

export function nodeFiles(): TarFile[] {
  return [
    {
      path: NODE,
      type: 'file',
      mode: 0o755,
      data: readFileSync(join(projectRoot, 'node_modules/node/bin/node')),
    },
  ];
}

/** `compiled`: where the compiled program lies. */
export function applicationFiles(compiled: string): TarFile[] {
  const here = (path: string): string => join(projectRoot, path);
  return [
    ...filesOf(compiled, 'dist', TYPES),
    ...['proto', 'deploy', 'LICENSE', 'package.json'].flatMap((path) => filesOf(here(path), path, NOTHING)),
    ...npmPackages().flatMap(({ name }) => {
      const path = `node_modules/${name}`;
      return filesOf(here(path), path, NOT_RUN);
    }),
    // The image has no env(1).
    { path: PROGRAM, type: 'file', mode: 0o755, data: startedBy(`/${NODE}`, here('bin/berth')) },
    { path: 'usr/bin/berth', type: 'symlink', mode: 0o777, target: '../lib/berth/bin/berth' },
  ];
}

function startedBy(interpreter: string, script: string): Buffer {
  return Buffer.from(readFileSync(script, 'utf8').replace(/^#!.*/, `#!${interpreter}`));
}

/** What is below `start`, or `start` itself if it is a file, as `name` in the program's directory. */
function filesOf(start: string, name: string, leftOut: RegExp): TarFile[] {
  const found = statSync(start).isFile()
    ? [start]
    : readdirSync(start, { withFileTypes: true, recursive: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name));
  return found
    .filter((file) => !leftOut.test(file))
    .map((file) => ({
      path: join(HOME, name, relative(start, file)),
      type: 'file',
      mode: 0o644,
      data: readFileSync(file),
    }));
}
