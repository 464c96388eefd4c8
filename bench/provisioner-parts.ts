// Parts of the provisioner benchmark: a driver in a separate process, creation of claims and the wait for them, and a
// counter of the provisioner's API requests.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '../src/api/kinds.ts';
import { FINALIZER_PROVISIONING } from '../src/api/well-known.ts';
import { createBinder } from '../src/control-plane/binder/binder.ts';
import { createEventRecorder } from '../src/runtime/events/create-event-recorder.ts';
import { createInformers } from '../src/runtime/informer/create-informers.ts';
import type { KubeClient } from '../src/runtime/kube/kube.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';

const BERTH = fileURLToPath(new URL('../bin/berth', import.meta.url));

const PATIENCE_MS = 5_000;

export interface Running {
  readonly pid: number;
  stop(): Promise<void>;
}

/** `berth driver hostpath`, serving on `socket`. */
export async function startDriver(
  directory: string,
  options: { name: string; topology?: string; without?: readonly string[] },
): Promise<Running & { socket: string }> {
  const socket = join(directory, 'csi.sock');
  const stateDir = join(directory, 'state');
  await mkdir(stateDir, { recursive: true });
  const child = spawn(
    process.execPath,
    [
      BERTH,
      'driver',
      'hostpath',
      `--endpoint=unix://${socket}`,
      '--node-id=n0',
      `--state-dir=${stateDir}`,
      `--driver-name=${options.name}`,
      ...(options.topology ? [`--topology=${options.topology}`] : []),
      ...(options.without ? [`--without=${options.without.join()}`] : []),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await lineOf(child, /^ready /);
  return { socket, ...runningOf(child) };
}

/** Starts a program and ignores its output. */
export function startProgram(path: string, argv: readonly string[]): Running {
  return runningOf(spawn(path, argv, { stdio: process.env.BENCH_OUTPUT ? 'inherit' : 'ignore' }));
}

export const startBerth = (argv: readonly string[]): Running =>
  startProgram(process.execPath, [BERTH, ...argv]);

function runningOf(child: ChildProcess): Running {
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    pid: child.pid as number,
    // Graceful: only then does Node write its compile cache for the next start.
    async stop() {
      child.kill('SIGTERM');
      const patience = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
      await ended;
      clearTimeout(patience);
    },
  };
}

async function lineOf(child: ChildProcess, pattern: RegExp): Promise<void> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    if (pattern.test(line)) return;
  }
  throw new Error('the driver ended before it was ready');
}

/** Starts the binder; each round creates claims and waits for them. */
export async function startClaims(kube: KubeClient) {
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const stop = new AbortController();
  const informers = createInformers({ ...ports, kube });
  const recorder = createEventRecorder({ ...ports, kube, component: 'binder', signal: stop.signal });
  const binder = createBinder({ ...ports, kube, informers, recorder });
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  informers.start(stop.signal);
  await informers.synced();
  const running = binder.run(stop.signal).catch(() => {});
  return {
    async makeClass(name: string, driver: string, delayed = false): Promise<void> {
      await kube.create(storageClasses, {
        metadata: { name },
        provisioner: driver,
        volumeBindingMode: delayed ? 'WaitForFirstConsumer' : 'Immediate',
      });
    },
    /**
     * Runs from the first creation until all claims are bound and without the provisioner's finalizer. Returns the time
     * until all were bound, in milliseconds.
     */
    async bind(
      count: number,
      prefix: string,
      className: string,
      annotations?: Record<string, string>,
    ): Promise<number> {
      const startMs = performance.now();
      let next = 0;
      const create = async (): Promise<void> => {
        while (next < count) {
          const name = `${prefix}-${next++}`;
          await kube.create(persistentVolumeClaims, {
            metadata: { name, namespace: 'default', ...(annotations && { annotations }) },
            spec: {
              accessModes: ['ReadWriteOnce'],
              storageClassName: className,
              resources: { requests: { storage: '1Mi' } },
            },
          });
        }
      };
      await Promise.all(Array.from({ length: 16 }, create));
      const all = async (isDone: (claim: PersistentVolumeClaim) => boolean): Promise<void> => {
        for (let i = 0; i < count; i++) {
          await claims.waitFor(`default/${prefix}-${i}`, (claim) => claim !== undefined && isDone(claim));
        }
      };
      await all((claim) => claim.status?.phase === 'Bound');
      const boundMs = performance.now() - startMs;
      await all((claim) => !claim.metadata.finalizers?.includes(FINALIZER_PROVISIONING));
      return boundMs;
    },
    volumes,
    async stop(): Promise<void> {
      stop.abort();
      await running;
    },
  };
}

/** Counts the calls through a client: writes of objects, events, and reads of single objects. */
export function counted(kube: KubeClient) {
  const counts = { writes: 0, events: 0, reads: 0 };
  const client = Object.create(kube) as KubeClient;
  for (const verb of ['get', 'create', 'update', 'patch', 'delete'] as const) {
    const call = (kube[verb] as (...given: unknown[]) => Promise<unknown>).bind(kube);
    Object.assign(client, {
      [verb]: (resource: { plural: string }, ...rest: unknown[]) => {
        counts[verb === 'get' ? 'reads' : resource.plural === 'events' ? 'events' : 'writes']++;
        return call(resource, ...rest);
      },
    });
  }
  return { client, counts };
}
