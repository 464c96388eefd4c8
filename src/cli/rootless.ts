// `--rootless`: runs the command again as root of a user and mount namespace of its own, so that an unprivileged user can mount.
// The mounts exist in that namespace only. Replaces this process; nothing runs beside it.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { boolFlag } from '../runtime/flags/flag.ts';
import type { Environment } from './command.ts';

export const rootlessFlag = boolFlag({
  help:
    'Run without root, in a user and mount namespace. Volumes are directories: raw block volumes and backing: image are ' +
    'refused, and mounts are visible in the namespace only',
});

/** Set inside the namespace. */
const INSIDE = 'BERTH_ROOTLESS';
const UNSHARE = ['unshare', '--user', '--map-root-user', '--mount'];

/** A user namespace cannot be created: the message says why and what to do. */
class NamespaceError extends Error {
  override readonly name = 'NamespaceError';
}

const isRootless = (env: Environment): boolean => env[INSIDE] === '1';

/** Returns only inside the namespace. */
export function enterNamespace(env: Environment): void {
  if (isRootless(env)) return;
  const trial = spawnSync(UNSHARE[0] ?? '', [...UNSHARE.slice(1), 'true'], { encoding: 'utf8' });
  if (trial.error || trial.status !== 0) throw new NamespaceError(whyNot(trial));
  const path = spawnSync('/bin/sh', ['-c', 'command -v unshare'], { encoding: 'utf8' }).stdout.trim();
  const node = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(path, [...UNSHARE, ...node], definedOnly({ ...env, [INSIDE]: '1' }));
  throw new NamespaceError(`this Node (${process.version}) cannot replace itself; use Node 22.19 or newer`);
}

/** Settings of the kernel that forbid user namespaces, with the value that does. */
const SETTINGS = [
  {
    path: '/proc/sys/user/max_user_namespaces',
    name: 'user.max_user_namespaces',
    forbids: '0',
    allow: '15000',
  },
  {
    path: '/proc/sys/kernel/unprivileged_userns_clone',
    name: 'kernel.unprivileged_userns_clone',
    forbids: '0',
    allow: '1',
  },
  {
    path: '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
    name: 'kernel.apparmor_restrict_unprivileged_userns',
    forbids: '1',
    allow: '0',
  },
];

export function whyNot(
  trial: { error?: Error | undefined; stderr: string },
  read: (path: string) => string = (path) => readFileSync(path, 'utf8'),
): string {
  if ((trial.error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') {
    return '--rootless needs the program unshare, of the package util-linux; install it, or run as root';
  }
  const said = trial.stderr.trim() || trial.error?.message || 'no reason given';
  const [guilty] = SETTINGS.filter(({ path, forbids }) => {
    try {
      return read(path).trim() === forbids;
    } catch {
      // Not a setting of this kernel.
      return false;
    }
  });
  const advice = guilty
    ? `the kernel forbids it: ${guilty.name} is ${guilty.forbids}; an administrator allows it with \`sysctl -w ${guilty.name}=${guilty.allow}\``
    : 'look at the sysctls user.max_user_namespaces, kernel.unprivileged_userns_clone and ' +
      'kernel.apparmor_restrict_unprivileged_userns; in a container, its seccomp profile may forbid it';
  return `a user namespace cannot be created (${said}): ${advice}; or run as root`;
}

const definedOnly = (env: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
