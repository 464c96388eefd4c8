// Capabilities of the machine beyond Node. A test declares what it needs: `test('…', { skip: lacking('root') }, …)`,
// and the test command prints one line for each missing capability and what is skipped.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Set where the test command runs the tests in a user namespace, because it was not started by root. */
export const IN_NAMESPACE = 'BERTH_TEST_NAMESPACE';
export const UNSHARE = ['unshare', '--user', '--map-root-user', '--mount'] as const;

export function canUnshare(): boolean {
  const [program, ...args] = UNSHARE;
  return spawnSync(program, [...args, 'true'], { stdio: 'ignore' }).status === 0;
}

interface Capability {
  /** What is skipped without it. */
  readonly without: string;
  /** Why it is missing; undefined when present. */
  missing(): string | undefined;
}

/** PATH, and the directories that a user's PATH often lacks. */
export function programDirectories(): string[] {
  return [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin', '/usr/local/go/bin'];
}

export function programPath(name: string): string | undefined {
  return programDirectories()
    .map((directory) => join(directory, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A program of `BERTH_PEERS`, the directory with official programs. */
export function peerPath(name: string): string | undefined {
  const directory = process.env.BERTH_PEERS;
  const path = directory ? join(directory, name) : undefined;
  return path !== undefined && isExecutable(path) ? path : undefined;
}

/** For `skip`: why tests that need all of these programs of `BERTH_PEERS` are skipped, or false. */
export function missingPeers(...names: readonly string[]): string | false {
  const absent = names.filter((name) => peerPath(name) === undefined);
  if (absent.length === 0) return false;
  return process.env.BERTH_PEERS ? `BERTH_PEERS has no ${absent.join(', ')}` : 'BERTH_PEERS is not set';
}

/** A program from `go install`: on the PATH, in BERTH_PEERS, or in Go's bin directory. */
export function goProgramPath(name: string): string | undefined {
  const home = join(process.env.HOME ?? '/', 'go', 'bin');
  const places = [process.env.GOBIN, process.env.GOPATH && join(process.env.GOPATH, 'bin'), home];
  return (
    programPath(name) ??
    peerPath(name) ??
    places.flatMap((place) => (place ? [join(place, name)] : [])).find(isExecutable)
  );
}

const goProgram = (name: string, without: string): Capability => ({
  without,
  missing: () =>
    goProgramPath(name) === undefined
      ? `${name} is not installed${programPath('go') === undefined ? ', and neither is go to build it' : ''}`
      : undefined,
});

const program = (name: string, without: string): Capability => ({
  without,
  missing: () => (programPath(name) === undefined ? `${name} is not installed` : undefined),
});

export const capabilities = {
  root: {
    without: 'devices, other users and what else only root can use',
    missing: () => {
      if (process.getuid?.() !== 0) return 'not running as root';
      return process.env[IN_NAMESPACE] ? 'root of a user namespace only' : undefined;
    },
  },
  mounts: {
    without: 'real mounts',
    missing: () => (process.getuid?.() === 0 ? undefined : 'neither root nor in a user namespace'),
  },
  namespaces: {
    without: 'clusters without root',
    missing: () => (canUnshare() ? undefined : 'user namespaces cannot be created here'),
  },
  loop: {
    without: 'volumes that are block devices',
    missing: () => (existsSync('/dev/loop-control') ? undefined : 'there is no /dev/loop-control'),
  },
  'mkfs.ext4': program('mkfs.ext4', 'ext4 volumes'),
  'mkfs.xfs': program('mkfs.xfs', 'xfs volumes'),
  chromium: program('chromium', 'the web page in a browser'),
  zsh: program('zsh', 'completion in zsh'),
  fish: program('fish', 'completion in fish'),
  kubectl: program('kubectl', 'kubectl against the embedded API server'),
  'csi-sanity': goProgram('csi-sanity', "csi-sanity's conformance suite against our driver"),
  h2spec: goProgram('h2spec', "h2spec's conformance suite against our HTTP/2 server"),
  BERTH_PEERS: {
    without: 'comparison and interplay with the official programs',
    missing: () => (process.env.BERTH_PEERS ? undefined : 'BERTH_PEERS is not set'),
  },
  BERTH_TEST_KUBECONFIG: {
    without: 'tests against a real cluster',
    missing: () => (process.env.BERTH_TEST_KUBECONFIG ? undefined : 'BERTH_TEST_KUBECONFIG is not set'),
  },
} satisfies Record<string, Capability>;

export type CapabilityName = keyof typeof capabilities;

/** For `skip`: why a test that needs all of these is skipped, or false. */
export function lacking(...names: readonly CapabilityName[]): string | false {
  const reasons = names.map((name) => capabilities[name].missing()).filter((reason) => reason !== undefined);
  return reasons.length === 0 ? false : reasons.join(', ');
}
