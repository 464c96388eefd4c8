// Events per second of an informer, the memory of its cache, and the cost of importing the client over an empty
// process. Compared with the official JavaScript client on the same server.
import { execFile, fork } from 'node:child_process';
import { glob, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { pods } from '../src/api/kinds.ts';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { createInformers } from '../src/runtime/informer/create-informers.ts';
import { createHttpKubeClient } from '../src/runtime/kube/http-kube-client.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { defineBenchmark } from './harness.ts';

/** One run over all events, from an empty cache to a full one. */
type Follow = (url: string, events: number) => Promise<void>;

async function candidate(follow: Follow, imports: { from: URL; modules: readonly string[] }, events: number) {
  const server = fork(new URL('./watch-server.ts', import.meta.url), [String(events)]);
  const port = await new Promise<number>((resolve) =>
    server.once('message', (value) => resolve(value as number)),
  );
  const imported = await importCost(imports.from, imports.modules);
  return {
    async round() {
      await follow(`http://127.0.0.1:${port}`, events);
      return { operations: events, figures: imported };
    },
    processes: { server: server.pid ?? 0 },
    stop: () => server.disconnect(),
  };
}

/** The compiled sources, as in the npm package: type stripping at import would take additional memory. */
async function withoutTypes(directory: string): Promise<URL> {
  const root = new URL('..', import.meta.url);
  await symlink(new URL('node_modules', root), join(directory, 'node_modules'));
  await writeFile(join(directory, 'package.json'), '{"type":"module"}');
  for await (const path of glob('src/{api,runtime}/**/*.ts', { cwd: fileURLToPath(root) })) {
    const source = await readFile(new URL(path, root), 'utf8');
    const target = join(directory, path.replace(/\.ts$/, '.js'));
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, stripTypeScriptTypes(source).replaceAll(".ts'", ".js'"));
  }
  return pathToFileURL(`${directory}/`);
}

async function importCost(from: URL, modules: readonly string[]): Promise<Record<string, number>> {
  const program = (list: readonly string[]) =>
    `const start = performance.now();
     for (const module of ${JSON.stringify(list)}) await import(module);
     console.log(JSON.stringify([process.memoryUsage.rss(), performance.now() - start]))`;
  const measure = async (list: readonly string[]): Promise<[number, number]> => {
    const argv = ['--input-type=module', '-e', program(list)];
    const { stdout } = await promisify(execFile)(process.execPath, argv, { cwd: fileURLToPath(from) });
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
    berth: async ({ flags, directory }) => {
      const modules = [
        './src/runtime/kube/http-kube-client.js',
        './src/runtime/kube/load-kube-config.js',
        './src/runtime/informer/create-informers.js',
      ];
      return candidate(followWithBerth, { from: await withoutTypes(directory), modules }, flags.events);
    },
    '@kubernetes/client-node': ({ flags }) =>
      candidate(
        followWithOfficial,
        { from: new URL('..', import.meta.url), modules: ['@kubernetes/client-node'] },
        flags.events,
      ),
  },
});
