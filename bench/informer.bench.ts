// How fast an informer follows a busy kind, what the cache costs, and what importing the client costs over an empty
// process; beside it the official JavaScript client, on the same server.
import { execFile, fork } from 'node:child_process';
import { promisify } from 'node:util';
import { pods } from '../src/api/kinds.ts';
import { realClock } from '../src/runtime/clock.ts';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { createInformers } from '../src/runtime/informer/create-informers.ts';
import { createHttpKubeClient } from '../src/runtime/kube/http-kube-client.ts';
import { silentLog } from '../src/runtime/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { defineBenchmark } from './harness.ts';

/** One run over all events; resolves with the number cached when all are in, having dropped the cache. */
type Follow = (url: string, events: number) => Promise<void>;

async function candidate(follow: Follow, modules: readonly string[], events: number) {
  const server = fork(new URL('./watch-server.ts', import.meta.url), [String(events)]);
  const port = await new Promise<number>((resolve) =>
    server.once('message', (value) => resolve(value as number)),
  );
  const imported = await importCost(modules);
  return {
    async round() {
      globalThis.gc?.();
      await follow(`http://127.0.0.1:${port}`, events);
      return { operations: events, figures: imported };
    },
    processes: { server: server.pid ?? 0 },
    stop: () => server.disconnect(),
  };
}

async function importCost(modules: readonly string[]): Promise<Record<string, number>> {
  const program = (list: readonly string[]) =>
    `const start = performance.now();
     for (const module of ${JSON.stringify(list)}) await import(module);
     console.log(JSON.stringify([process.memoryUsage.rss(), performance.now() - start]))`;
  const measure = async (list: readonly string[]): Promise<[number, number]> => {
    const options = { cwd: new URL('..', import.meta.url) };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program(list)],
      options,
    );
    return JSON.parse(stdout);
  };
  const empty = await measure([]);
  const loaded = await measure(modules);
  return { 'import MB': (loaded[0] - empty[0]) / 1e6, 'import ms': loaded[1] };
}

const followWithBerth: Follow = async (url, events) => {
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const kube = createHttpKubeClient({
    ...ports,
    config: { server: url, source: 'bench', tls: {}, auth: {} },
  });
  const stop = new AbortController();
  const informers = createInformers({ ...ports, kube });
  const informer = informers.of(pods);
  informer.addIndex('node', (pod) => [pod.spec.nodeName ?? '']);
  informers.start(stop.signal);
  await informer.waitFor(`bench/pod-${events - 1}`, (pod) => pod !== undefined);
  const cached = informer.list().length;
  stop.abort();
  await kube.close();
  if (cached !== events) throw new Error(`${cached} of ${events} pods are cached`);
};

const followWithOfficial: Follow = async (url, events) => {
  const { CoreV1Api, KubeConfig, makeInformer } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'bench', server: url, skipTLSVerify: true }, { name: 'bench' });
  const api = config.makeApiClient(CoreV1Api);
  const informer = makeInformer(config, '/api/v1/pods', () => api.listPodForAllNamespaces());
  const last = new Promise<void>((resolve) => {
    informer.on('add', (pod) => {
      if (pod.metadata?.name === `pod-${events - 1}`) resolve();
    });
  });
  await informer.start();
  await last;
  await informer.stop();
};

export const benchmark = defineBenchmark({
  summary: 'Watch events into an informer over HTTP, and the cost of importing the client',
  operation: 'event',
  flags: { events: intFlag({ help: 'Events a round', default: 50_000, min: 1 }) },
  candidates: {
    berth: ({ flags }) =>
      candidate(
        followWithBerth,
        ['./src/runtime/kube/http-kube-client.ts', './src/runtime/informer/create-informers.ts'],
        flags.events,
      ),
    '@kubernetes/client-node': ({ flags }) =>
      candidate(followWithOfficial, ['@kubernetes/client-node'], flags.events),
  },
});
