// How long a client's `get` takes while another client floods the API server with gets, lists, watches or large writes,
// compared with an idle server. The flood is another user, in a separate thread. On two cores the flood's own CPU time
// delays the server as well, so two figures leave it out: the server's CPU time for each get, which includes what it did
// for the flood meanwhile, and the CPU time for which its event loop is busy at a time. `--flood-nice=19` yields the
// processors to the server. `ms/get` is the whole round, with the flood's start and end; the latency is `mean ms`.
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { readCredentials, startServer } from '../test/apiserver/server-process.ts';
import { HttpsCaller } from '../test/https-caller.ts';
import type { FloodKind, FloodOptions } from './flood.ts';
import { defineBenchmark, type StartCandidate } from './harness.ts';

const flags = {
  gets: intFlag({ help: 'Gets measured a round', default: 200, min: 1 }),
  objects: intFlag({ help: 'Objects that are listed and watched', default: 5_000, min: 1 }),
  connections: intFlag({ help: 'Connections of the flood', default: 32, min: 1 }),
  'flood-nice': intFlag({ help: "Niceness of the flood's thread", default: 0, min: 0 }),
};

const PATH = '/api/v1/namespaces/flooded/configmaps';

function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function under(flood: FloodKind | undefined): StartCandidate<typeof flags> {
  return async ({ flags: own, directory }) => {
    const server = await startServer({
      dir: directory,
      preload: new URL('./loop-blocks.ts', import.meta.url),
    });
    const access = await readCredentials(join(directory, 'kubeconfig'));
    const caller = new HttpsCaller(access);
    const call = async (method: 'GET' | 'POST', path: string, body?: object): Promise<string> => {
      const answer = await caller.call(method, path, body);
      if (answer.code >= 300) throw new Error(`${method} ${path}: ${answer.code} ${answer.body}`);
      return answer.body;
    };
    await call('POST', '/api/v1/namespaces', { metadata: { name: 'flooded' } });
    await call('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'flood' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'default' }],
    });
    const token = JSON.parse(
      await call('POST', '/api/v1/namespaces/default/serviceaccounts/default/token', { spec: {} }),
    ).status.token as string;
    for (let next = 0; next < own.objects; ) {
      const some = Array.from({ length: Math.min(100, own.objects - next) }, () => next++);
      await Promise.all(
        some.map((index) =>
          call('POST', PATH, { metadata: { name: `map-${index}` }, data: { text: 'x'.repeat(1000) } }),
        ),
      );
    }
    const workerData: FloodOptions | undefined = flood && {
      access: {
        url: access.url,
        tls: { ca: access.tls.ca ?? '' },
        headers: { authorization: `Bearer ${token}` },
      },
      kind: flood,
      connections: own.connections,
      path: PATH,
      nice: own.floodNice,
    };
    const worker =
      workerData && new Worker(new URL('./flood.ts', import.meta.url), { workerData, execArgv: [] });
    return {
      async round() {
        worker?.postMessage('go');
        if (worker) await once(worker, 'message');
        server.child.send('start');
        const times: number[] = [];
        for (let count = 0; count < own.gets; count++) {
          const startMs = performance.now();
          await call('GET', `${PATH}/map-0`);
          times.push(performance.now() - startMs);
        }
        server.child.send('stop');
        const [blocksMs] = (await once(server.child, 'message')) as [number[]];
        const idle = worker && once(worker, 'message');
        worker?.postMessage('stop');
        await idle;
        return {
          operations: own.gets,
          figures: {
            'mean ms': times.reduce((sum, each) => sum + each, 0) / times.length,
            'p50 ms': at(times, 0.5),
            'p99 ms': at(times, 0.99),
            'worst ms': at(times, 1),
            'loop busy p50 CPU ms': at(blocksMs, 0.5),
            'loop busy p99 CPU ms': at(blocksMs, 0.99),
            'loop busy worst CPU ms': at(blocksMs, 1),
          },
        };
      },
      processes: { server: server.child.pid as number },
      async stop() {
        await worker?.terminate();
        await caller.close();
        await server.end('SIGTERM');
      },
    };
  };
}

export const benchmark = defineBenchmark({
  summary: "One client's get while another floods the API server",
  operation: 'get',
  flags,
  candidates: {
    quiet: under(undefined),
    gets: under('gets'),
    lists: under('lists'),
    watches: under('watches'),
    writes: under('writes'),
  },
  repeats: 3,
});
