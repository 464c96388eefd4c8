// `berth up` as a process, and kubectl against it: what end-to-end tests drive.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

export const BERTH = fileURLToPath(new URL('../../bin/berth', import.meta.url));
export const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A command to its end. Never rejects: the exit code is part of the answer. */
export function run(
  program: string,
  args: readonly string[],
  options: { env?: Record<string, string>; input?: string; timeoutMs?: number } = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      args,
      { env: { ...process.env, ...options.env }, maxBuffer: 1 << 26, timeout: options.timeoutMs ?? 60_000 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null;
        resolve({ code, stdout, stderr });
      },
    );
    // A command that refuses at once is gone before it reads.
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.input ?? '');
  });
}

export const berth = (args: readonly string[], options?: Parameters<typeof run>[2]): Promise<Ended> =>
  run(process.execPath, [BERTH, ...args], options);

export interface UpProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly kubeconfig: string;
  readonly dataDir: string;
  /** Everything printed so far. */
  output(): { stdout: string; stderr: string };
  kubectl(...args: string[]): Promise<string>;
  /** Parsed JSON of `kubectl get … -o json`. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read any object's fields
  get(...args: string[]): Promise<any>;
  apply(manifest: string): Promise<string>;
  /** Paths of a pod's volumes by name, once it runs. */
  published(pod: string): Promise<Record<string, string>>;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

const undoing = new WeakMap<object, (() => unknown)[]>();

/** Done after the test, last things first: Node does the first first, and would remove what is still mounted. */
export function undoAfter(t: Pick<TestContext, 'after'>, step: () => unknown): void {
  const known = undoing.get(t);
  const steps = known ?? [];
  steps.push(step);
  if (known) return;
  undoing.set(t, steps);
  t.after(async () => {
    for (const each of steps.reverse()) await each();
  });
}

/** A directory that is removed after the test; short, for sockets. */
export async function temporaryDirectory(t: Pick<TestContext, 'after'>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'e2e-'));
  undoAfter(t, () => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Started in `dataDir`; killed after the test, if it still runs. */
export async function startUp(
  t: Pick<TestContext, 'after'>,
  dataDir: string,
  args: readonly string[] = [],
): Promise<UpProcess> {
  const child = spawn(process.execPath, [BERTH, 'up', '--data-dir', dataDir, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = { stdout: '', stderr: '' };
  child.stderr?.on('data', (chunk) => {
    printed.stderr += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const stop = (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    child.kill(signal);
    return ended;
  };
  undoAfter(t, async () => {
    if (child.exitCode === null && child.signalCode === null) await stop('SIGTERM');
  });
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      printed.stdout += `${line}\n`;
      const ready = /^ready (\S+)/.exec(line)?.[1];
      if (ready !== undefined) resolve(ready);
    });
    void ended.then((code) => reject(new Error(`berth up ended with ${code}: ${printed.stderr}`)));
  });
  const kubeconfig = join(dataDir, 'kubeconfig');
  const kubectlWith = async (args: readonly string[], input?: string): Promise<string> => {
    const answer = await run('kubectl', ['--kubeconfig', kubeconfig, ...args], {
      ...(input !== undefined && { input }),
    });
    if (answer.code !== 0) {
      throw new Error(
        `kubectl ${args.join(' ')} ended with ${answer.code}: ${answer.stderr}\n${printed.stderr}`,
      );
    }
    return answer.stdout;
  };
  const up: UpProcess = {
    child,
    url,
    kubeconfig,
    dataDir,
    output: () => printed,
    kubectl: (...kubectlArgs) => kubectlWith(kubectlArgs),
    get: async (...kubectlArgs) => JSON.parse(await kubectlWith(['get', ...kubectlArgs, '-o', 'json'])),
    apply: (manifest) => kubectlWith(['apply', '-f', '-'], manifest),
    async published(pod) {
      await kubectlWith(['wait', `pod/${pod}`, '--for=condition=Ready', '--timeout=45s']);
      const { metadata } = await up.get('pod', pod);
      return JSON.parse(metadata.annotations['csi.berth/published-volumes']);
    },
    stop,
  };
  return up;
}

/** Mounts of volumes: a cluster's own memory for its nodes is there as long as it runs, and the test runner looks for it. */
export function mountsBelow(directory: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => !line.includes(' - tmpfs berth '))
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${directory}/`));
}

/** A claim and a pod that uses it, pinned to a node where told. */
export function claimAndPod(
  name: string,
  options: { class?: string; node?: string; mode?: string } = {},
): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: [claimOf(name, options), podOf(name, { ...options, claim: name })],
  });
}

export function claimOf(name: string, options: { class?: string; mode?: string } = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: {
      storageClassName: options.class ?? 'hostpath',
      accessModes: [options.mode ?? 'ReadWriteOnce'],
      resources: { requests: { storage: '16Mi' } },
    },
  };
}

export function podOf(name: string, options: { claim: string; node?: string }): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 1,
      ...(options.node && { nodeSelector: { 'kubernetes.io/hostname': options.node } }),
      containers: [{ name: 'main', image: 'busybox' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: options.claim } }],
    },
  };
}
