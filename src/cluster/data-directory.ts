// The data directory of a cluster on this machine: state and keys of the API server, node roots, hostpath's volumes, the admin's
// kubeconfig. Creates the directories and removes them for an ephemeral cluster; does not know their contents.

import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, statSync } from 'node:fs';
import { rm, statfs } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

export interface DataDirectory {
  readonly path: string;
  /** Removed at the end. */
  readonly isEphemeral: boolean;
  readonly apiserver: string;
  readonly kubeconfig: string;
  /** What happened in earlier runs. */
  readonly trace: string;
  /** The key to the page, kept so that a page that is open finds the next start. */
  readonly dashboardToken: string;
  /** Above the roots of all nodes, and of nothing else. */
  readonly nodes: string;
  /** The kubelet's layout for one node: plugins, plugins_registry, pods. */
  nodeRoot(nodeName: string): string;
  /** Sockets and volumes of a driver that runs with the cluster. */
  driver(name: string): string;
  /** Of the certificate with which parts serve others. */
  readonly serving: string;
  /** Kubeconfigs of parts that are run by somebody else. */
  partKubeconfig(part: string): string;
  /** Removes all of it. Only after everything below was unmounted. */
  remove(): Promise<void>;
}

/** The data directory cannot be used; the message says what to do. */
class DataDirectoryError extends Error {
  override readonly name = 'DataDirectoryError';
}

/** Less than this is full: not even the first objects and their journal would fit. */
const LEAST_FREE_BYTES = 16 * 1024 * 1024;

/** `/var/lib/berth` for root, who alone can mount; below the home directory for everybody else. */
export function defaultDataDirectory(env: Readonly<Record<string, string | undefined>>): string {
  if (env.BERTH_DATA_DIR) return resolve(env.BERTH_DATA_DIR);
  // In a user namespace everybody is root; the directory stays the user's.
  if (process.getuid?.() === 0 && env.BERTH_ROOTLESS !== '1') return '/var/lib/berth';
  return join(env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state'), 'berth');
}

/** The admin's kubeconfig in a data directory: where commands look that were told of no other. */
export function kubeconfigIn(dataDirectory: string): string {
  return join(dataDirectory, 'kubeconfig');
}

/** Without `path`, a directory of its own that is removed at the end. */
export async function openDataDirectory(path: string | undefined): Promise<DataDirectory> {
  const made = path === undefined ? makeTemporary() : make(resolve(path));
  await checkRoom(made);
  return {
    path: made,
    isEphemeral: path === undefined,
    apiserver: join(made, 'apiserver'),
    kubeconfig: kubeconfigIn(made),
    trace: join(made, 'trace.jsonl'),
    dashboardToken: join(made, 'dashboard-token'),
    // One letter each: paths of sockets have 107 bytes in all.
    nodes: join(made, 'n'),
    nodeRoot: (nodeName) => join(made, 'n', nodeName),
    serving: join(made, 'serving'),
    driver: (name) => join(made, 'd', name),
    partKubeconfig: (part) => join(made, 'kubeconfigs', `${part}.kubeconfig`),
    remove: () => rm(made, { recursive: true, force: true }),
  };
}

function makeTemporary(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'berth-'));
  } catch (error) {
    throw refusal(tmpdir(), error, 'set TMPDIR to a directory that is writable');
  }
}

function make(path: string): string {
  try {
    makeWithParents(path);
    accessSync(path, constants.W_OK);
    return path;
  } catch (error) {
    throw refusal(path, error, 'choose a directory that you can write with --data-dir, or use --ephemeral');
  }
}

/** Not `recursive`: below /proc it never returns, and on a read-only file system it blames the parent. */
function makeWithParents(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(path).isDirectory()) return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || existsSync(parent)) throw error;
    makeWithParents(parent);
    mkdirSync(path, { mode: 0o700 });
  }
}

async function checkRoom(path: string): Promise<void> {
  const { bavail, bsize } = await statfs(path);
  if (bavail * bsize >= LEAST_FREE_BYTES) return;
  throw new DataDirectoryError(
    `the disk under ${path} is full: ${Math.floor((bavail * bsize) / 1024)} KiB are free, at least ` +
      `${LEAST_FREE_BYTES / 1024 / 1024} MiB are needed; make room, or choose another place with --data-dir`,
  );
}

function refusal(path: string, error: unknown, advice: string): DataDirectoryError {
  const { code } = error as NodeJS.ErrnoException;
  const reasons: Record<string, string> = {
    EACCES: 'it may not be written',
    EROFS: 'its filesystem is read-only',
    ENOSPC: 'the disk is full',
    ENOTDIR: 'a part of the path is a file',
    EEXIST: 'there is a file of that name',
    ENOENT: 'its file system takes no directories',
  };
  const why = reasons[code ?? ''] ?? (error as Error).message;
  return new DataDirectoryError(`the data directory ${path} cannot be used: ${why}; ${advice}`, {
    cause: error,
  });
}
