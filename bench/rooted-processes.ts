// Processes that run as containers do: with a root file system of their own, as the image's user. unshare(1) instead of a container runtime,
// whose own start is not what is measured.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Unavailable } from './harness.ts';

const IMAGE = fileURLToPath(new URL('../scripts/image.ts', import.meta.url));
/** The image's user. */
export const NOBODY = 65532;

export interface Root {
  readonly path: string;
  start(argv: readonly string[]): ChildProcess;
}

/** The files of Berth's image; `archive` has them already, or they are made. */
export function berthRoot(path: string, archive: string | undefined): Root {
  const tar = archive ?? `${path}.tar`;
  if (archive === undefined) {
    execFileSync(process.execPath, [IMAGE, '--root-fs', tar], { stdio: ['ignore', 'ignore', 'inherit'] });
  }
  mkdirSync(path);
  execFileSync('tar', ['-x', '-f', tar, '-C', path]);
  return rootAt(path);
}

/** Nothing but these programs, which are linked statically. */
export function programsRoot(path: string, programs: Readonly<Record<string, string>>): Root {
  for (const [name, from] of Object.entries(programs)) {
    const to = join(path, name);
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(from, to);
    chmodSync(to, 0o755);
  }
  for (const name of ['proc', 'run']) mkdirSync(join(path, name), { recursive: true });
  return rootAt(path);
}

function rootAt(path: string): Root {
  if (process.getuid?.() !== 0) throw new Unavailable('only root can give a process another root directory');
  // /proc is in a mount namespace that ends with the process. unshare(1) becomes the program, with the same PID.
  const rooted = ['--mount', '--mount-proc', `--root=${path}`, `--setgid=${NOBODY}`, `--setuid=${NOBODY}`];
  return {
    path,
    start: (argv) =>
      spawn('unshare', [...rooted, '--', ...argv], {
        stdio: process.env.BENCH_OUTPUT ? 'inherit' : 'ignore',
        // In a pod the root file system is read-only: there is no place for a compile cache.
        env: { PATH: '/usr/sbin:/usr/bin:/bin', NODE_DISABLE_COMPILE_CACHE: '1' },
      }),
  };
}

export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Memory in megabytes. A page that several processes map counts in part for each, so that a pod's sum has it once. */
export function proportionalMegabytes(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return (Number(/^Pss:\s*(\d+) kB$/m.exec(rollup)?.[1]) * 1024) / 1e6;
}
