// The embedded API server over HTTPS: durable creates, a list of 5,000 claims, one change to 500 watchers, time to
// ready, loading 100,000 objects, and the cost of a write with 1,000 and with 100,000 objects. Compared with
// kube-apiserver and etcd if BERTH_PEERS has both.
import { join } from 'node:path';
import { intFlag } from '../src/runtime/flags/flag.ts';
import type { FlagValues } from '../src/runtime/flags/parse-flags.ts';
import { readCredentials, startServer } from '../test/apiserver/server-process.ts';
import { type Access, HttpsCaller } from '../test/https-caller.ts';
import { startKubeApiserver } from '../test/interop/kube-apiserver.ts';
import { type Candidate, defineBenchmark, needPeers } from './harness.ts';
import { processUsage } from './process-usage.ts';

const flags = {
  creates: intFlag({ help: 'Claims created a round', default: 5_000, min: 1 }),
  connections: intFlag({ help: 'Connections that create', default: 32, min: 1 }),
  listed: intFlag({ help: 'Claims in the list', default: 5_000, min: 1 }),
  watchers: intFlag({ help: 'Watchers of one change', default: 500, min: 1 }),
  loaded: intFlag({ help: 'Objects loaded at a start; 0 to leave it out', default: 100_000, min: 0 }),
};

const claimsPath = (namespace: string) => `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;

const claim = (name: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, labels: { app: 'bench' } },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'bench',
    resources: { requests: { storage: '1Gi' } },
  },
});

/** Clients of one server. */
class Clients {
  readonly #caller: HttpsCaller;

  constructor(access: Access) {
    this.#caller = new HttpsCaller(access);
  }

  async call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<string> {
    const answer = await this.#caller.call(method, path, body);
    if (answer.code >= 300) throw new Error(`${method} ${path}: ${answer.code} ${answer.body}`);
    return answer.body;
  }

  /** Calls `act` for 0, 1, … count − 1 with concurrency `width`; returns the time it took. */
  async many(count: number, width: number, act: (index: number) => Promise<unknown>): Promise<number> {
    const startMs = performance.now();
    let next = 0;
    const worker = async () => {
      while (next < count) await act(next++);
    };
    await Promise.all(Array.from({ length: width }, worker));
    return performance.now() - startMs;
  }

  close(): Promise<void> {
    return this.#caller.close();
  }
}

async function measured(
  access: Access,
  own: FlagValues<typeof flags>,
): Promise<Pick<Candidate, 'round' | 'stop'>> {
  const writers = new Clients(access);
  const watching = new HttpsCaller(access);
  for (const name of ['creates', 'listed', 'watched']) {
    await writers.call('POST', '/api/v1/namespaces', { metadata: { name } });
  }
  await writers.many(own.listed, own.connections, (index) =>
    writers.call('POST', claimsPath('listed'), claim(`claim-${index}`)),
  );
  let created = 0;
  return {
    async round() {
      const base = created;
      created += own.creates;
      const createMs = await writers.many(own.creates, own.connections, (index) =>
        writers.call('POST', claimsPath('creates'), claim(`claim-${base + index}`)),
      );
      const listMs = await fastest(3, () => writers.call('GET', claimsPath('listed')));
      const fanOutMs = await fanOut(watching, writers, own.watchers, `news-${base}`);
      return {
        operations: own.creates,
        figures: {
          'durable creates/s': (own.creates / createMs) * 1000,
          [`list of ${own.listed} ms`]: listMs,
          [`one change to ${own.watchers} watchers ms`]: fanOutMs,
        },
      };
    },
    async stop() {
      await Promise.all([writers.close(), watching.close()]);
    },
  };
}

async function fastest(times: number, act: () => Promise<unknown>): Promise<number> {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let at = 0; at < times; at++) {
    const startMs = performance.now();
    await act();
    bestMs = Math.min(bestMs, performance.now() - startMs);
  }
  return bestMs;
}

/** The time from sending a create until the last watcher has received it. */
async function fanOut(
  watching: HttpsCaller,
  writers: Clients,
  watchers: number,
  name: string,
): Promise<number> {
  const { metadata } = JSON.parse(await writers.call('GET', claimsPath('watched')));
  const path = `${claimsPath('watched')}?watch=1&resourceVersion=${metadata.resourceVersion}`;
  const heard: Promise<void>[] = [];
  const streams = await Promise.all(
    Array.from({ length: watchers }, () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      heard.push(promise);
      let text = '';
      return watching.follow(path, {
        // An event may be split over chunks.
        text: (more) => {
          text += more;
          if (text.includes(name)) resolve();
        },
        ended: (error) => reject(error ?? new Error('a watch ended before it showed the change')),
      });
    }),
  );
  const refused = streams.find(({ code }) => code !== 200);
  if (refused !== undefined) throw new Error(`a watch was answered ${refused.code}`);
  const startMs = performance.now();
  await writers.call('POST', claimsPath('watched'), claim(name));
  await Promise.all(heard);
  const tookMs = performance.now() - startMs;
  for (const { close } of streams) close();
  return tookMs;
}

/** Time to ready, and the effect of many objects on start and write; each measured once, on a separate directory. */
async function onceFigures(
  directory: string,
  own: FlagValues<typeof flags>,
): Promise<Record<string, number>> {
  const readies: number[] = [];
  for (let at = 0; at < 5; at++) {
    const server = await startServer({ dir: directory, dataDir: join(directory, `empty-${at}`) });
    readies.push(server.readyMs);
    await server.end('SIGTERM');
  }
  const figures: Record<string, number> = { 'ready on an empty directory ms': median(readies) };
  if (own.loaded === 0) return figures;
  const dataDir = join(directory, 'loaded');
  const filling = await startServer({ dir: directory, dataDir });
  const clients = new Clients(await readCredentials(filling.kubeconfig));
  const fill = (from: number, count: number) =>
    clients.many(count, own.connections, (index) =>
      clients.call('POST', claimsPath('default'), claim(`claim-${from + index}`)),
    );
  // Warm-up, in a namespace that is emptied again.
  await clients.call('POST', '/api/v1/namespaces', { metadata: { name: 'warm-up' } });
  await clients.many(10_000, own.connections, (index) =>
    clients.call('POST', claimsPath('warm-up'), claim(`claim-${index}`)),
  );
  await clients.call('DELETE', claimsPath('warm-up'));
  const earlyMs = await fill(0, 3_000);
  await fill(3_000, Math.max(0, own.loaded - 3_000));
  const lateMs = await fill(own.loaded, 3_000);
  figures['write among many vs few'] = lateMs / earlyMs;
  await clients.close();
  await filling.end('SIGTERM');
  const loaded = await startServer({ dir: directory, dataDir });
  const reader = new Clients(await readCredentials(loaded.kubeconfig));
  await reader.call('GET', `${claimsPath('default')}?limit=1`);
  figures[`${own.loaded} objects loaded ms`] = loaded.readyMs;
  figures[`${own.loaded} objects peak MB`] =
    (processUsage(loaded.child.pid as number)?.peakMemoryBytes ?? 0) / 1e6;
  await reader.close();
  await loaded.end('SIGTERM');
  return figures;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

export const benchmark = defineBenchmark({
  summary: 'The API server over HTTPS',
  operation: 'create',
  flags,
  baseline: 'berth',
  candidates: {
    berth: async ({ flags: own, directory }) => {
      const once = await onceFigures(directory, own);
      const server = await startServer({ dir: directory, dataDir: join(directory, 'data') });
      const { round, stop } = await measured(await readCredentials(server.kubeconfig), own);
      return {
        processes: { server: server.child.pid as number },
        async round() {
          const { operations, figures } = await round();
          return { operations, figures: { ...figures, ...once } };
        },
        async stop() {
          await stop?.();
          await server.end('SIGTERM');
        },
      };
    },
    'kube-apiserver + etcd': async ({ flags: own, directory }) => {
      needPeers('etcd', 'kube-apiserver');
      const peer = await startKubeApiserver(directory);
      const { round, stop } = await measured(peer, own);
      return {
        processes: peer.processes,
        async round() {
          const { operations, figures } = await round();
          return { operations, figures: { ...figures, 'ready on an empty directory ms': peer.readyMs } };
        },
        async stop() {
          await stop?.();
          await peer.stop();
        },
      };
    },
  },
});
