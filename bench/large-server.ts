// API servers with many volumes, on a directory that outlives the process: what a restart, a list and their memory cost.
import { once } from 'node:events';
import { createHttpKubeClient, type HttpKubeClient } from '../src/runtime/kube/http-kube-client.ts';
import { loadKubeConfig } from '../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { readCredentials, startServer } from '../test/apiserver/server-process.ts';
import { type Access, HttpsCaller } from '../test/https-caller.ts';
import { startKubeApiserver } from '../test/interop/kube-apiserver.ts';
import { processUsage } from './process-usage.ts';

export interface LargeServer {
  readonly access: Access;
  readonly kubeconfig: string;
  readonly pids: readonly number[];
  readonly readyMs: number;
  /** The longest time its event loop is busy, in CPU time, if it has one. */
  readonly pauses?: { start(): void; longestMs(): Promise<number> };
  stop(): Promise<void>;
}

/** Starts on what an earlier one left in `directory`. */
export type StartLargeServer = (directory: string) => Promise<LargeServer>;

export const startBerthServer: StartLargeServer = async (directory) => {
  const server = await startServer({
    dir: directory,
    dataDir: `${directory}/data`,
    preload: new URL('./loop-blocks.ts', import.meta.url),
  });
  return {
    access: await readCredentials(server.kubeconfig),
    kubeconfig: server.kubeconfig,
    pids: [server.child.pid as number],
    readyMs: server.readyMs,
    pauses: {
      start: () => server.child.send('start'),
      async longestMs() {
        const answer = once(server.child, 'message');
        server.child.send('stop');
        const [blocksMs] = (await answer) as [number[]];
        return Math.max(...blocksMs);
      },
    },
    async stop() {
      await server.end('SIGTERM');
    },
  };
};

export const startOfficialServer: StartLargeServer = async (directory) => {
  const server = await startKubeApiserver(directory);
  const { kubeconfig, readyMs } = server;
  return {
    access: server,
    kubeconfig,
    readyMs,
    pids: Object.values(server.processes),
    stop: server.stop,
  };
};

export async function clientOf(kubeconfig: string): Promise<HttpKubeClient> {
  const config = await loadKubeConfig({ path: kubeconfig, env: {} });
  return createHttpKubeClient({ config, clock: realClock, random: realRandom, log: silentLog });
}

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const VOLUMES = '/api/v1/persistentvolumes';
/** kubectl's --chunk-size. */
const PAGE = 500;
const LISTS = 3;

/** A server that has just been started on the volumes: `kubectl get pv`, the list of a controller, and memory. */
export async function serverFigures(server: LargeServer): Promise<Record<string, number>> {
  const kubectl = new HttpsCaller({
    ...server.access,
    headers: { ...server.access.headers, accept: TABLE },
  });
  const controller = new HttpsCaller(server.access);
  const megabytes = (what: 'memoryBytes' | 'peakMemoryBytes'): number =>
    server.pids.reduce((sum, pid) => sum + (processUsage(pid)?.[what] ?? 0), 0) / 1e6;
  const cpuMs = (): number => server.pids.reduce((sum, pid) => sum + (processUsage(pid)?.cpuMs ?? 0), 0);
  const figures: Record<string, number> = { 'server: start ms': server.readyMs };
  try {
    figures['server: first page ms'] = await timed(() => get(kubectl, `${VOLUMES}?limit=${PAGE}`));
    figures['server: MB before lists'] = megabytes('memoryBytes');
    server.pauses?.start();
    const beforeMs = cpuMs();
    figures['server: whole list in pages ms'] = await fastest(() => inPages(kubectl));
    figures['server: whole list ms'] = await fastest(() => get(controller, VOLUMES));
    figures['server: CPU ms of both lists'] = (cpuMs() - beforeMs) / LISTS;
    const pause = await server.pauses?.longestMs();
    if (pause !== undefined) figures['server: longest pause while listing, CPU ms'] = pause;
    figures['server: peak MB'] = megabytes('peakMemoryBytes');
  } finally {
    await kubectl.close();
    await controller.close();
  }
  return figures;
}

async function get(caller: HttpsCaller, path: string): Promise<string> {
  const { code, body } = await caller.call('GET', path);
  if (code !== 200) throw new Error(`GET ${path}: ${code} ${body.slice(0, 500)}`);
  return body;
}

async function inPages(caller: HttpsCaller): Promise<void> {
  for (let path = `${VOLUMES}?limit=${PAGE}`; ; ) {
    const { metadata } = JSON.parse(await get(caller, path));
    if (!metadata.continue) return;
    path = `${VOLUMES}?limit=${PAGE}&continue=${encodeURIComponent(metadata.continue)}`;
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

async function fastest(work: () => Promise<unknown>): Promise<number> {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < LISTS; i++) bestMs = Math.min(bestMs, await timed(work));
  return bestMs;
}
