// Volume lifecycles on `berth up` as a separate process, driven over HTTPS: claim and pod are created, the volume is
// created, attached, staged and published, and everything is deleted again. With hostpath and real mounts, and with a
// driver that answers at once. Also the start-up time: to ready, and to the first published volume. A round is a
// thousand lifecycles, after a thousand for JIT warm-up. `--lives 10000 --warmups 0 --repeats 1` shows whether memory
// grows.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { persistentVolumeClaims, persistentVolumes, pods, volumeAttachments } from '../src/api/kinds.ts';
import { keyOf, type Resource } from '../src/api/object.ts';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { createInformers } from '../src/runtime/informer/create-informers.ts';
import { createHttpKubeClient } from '../src/runtime/kube/http-kube-client.ts';
import { loadKubeConfig } from '../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { type Candidate, defineBenchmark } from './harness.ts';
import { startInstantDriver } from './instant-driver.ts';

const berth = fileURLToPath(new URL('../bin/berth', import.meta.url));

interface Load {
  lives: number;
  inFlight: number;
}

interface Up {
  child: ChildProcess;
  kubeconfig: string;
  readyMs: number;
}

async function startUp(directory: string, args: readonly string[]): Promise<Up> {
  const kubeconfig = join(directory, 'kubeconfig');
  const startedMs = performance.now();
  const child = spawn(
    process.execPath,
    [berth, 'up', '--kubeconfig', kubeconfig, '--data-dir', join(directory, 'd'), ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  for await (const line of lines) if (line.startsWith('ready ')) break;
  const readyMs = performance.now() - startedMs;
  child.stdout?.resume();
  if (child.exitCode !== null) throw new Error(`berth up ended with ${child.exitCode}`);
  return { child, kubeconfig, readyMs };
}

async function stopUp({ child }: Up): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

async function connect(kubeconfig: string) {
  const config = await loadKubeConfig({ path: kubeconfig, env: {} });
  const common = { clock: realClock, random: realRandom, log: silentLog };
  const kube = createHttpKubeClient({ ...common, config });
  const stop = new AbortController();
  const informers = createInformers({ ...common, kube });
  const podCache = informers.of(pods, { namespace: 'default' });
  const claimCache = informers.of(persistentVolumeClaims, { namespace: 'default' });
  const volumeCache = informers.of(persistentVolumes);
  informers.start(stop.signal);
  await informers.synced();
  const namespace = 'default';

  /** Milliseconds from the claim to the published volume. */
  const lifecycle = async (name: string, className: string): Promise<number> => {
    const startMs = performance.now();
    const claim = await kube.create(persistentVolumeClaims, {
      metadata: { name, namespace },
      spec: {
        storageClassName: className,
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Mi' } },
      },
    });
    await kube.create(pods, {
      metadata: { name, namespace },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'main', image: 'none' }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
      },
    });
    const key = `${namespace}/${name}`;
    await podCache.waitFor(key, (pod) => pod?.status?.phase === 'Running');
    const publishedMs = performance.now() - startMs;
    await kube.delete(pods, { name, namespace });
    await kube.delete(persistentVolumeClaims, { name, namespace });
    await claimCache.waitFor(key, (object) => object === undefined);
    await volumeCache.waitFor(`pvc-${claim.metadata.uid}`, (volume) => volume === undefined);
    return publishedMs;
  };
  /** Objects that should have been deleted with the lifecycles. */
  const left = async (): Promise<string[]> => {
    const kinds: Resource[] = [pods, persistentVolumeClaims, persistentVolumes, volumeAttachments];
    const found = await Promise.all(
      kinds.map(async (kind) => (await kube.list(kind)).items.map((item) => `${kind.kind} ${keyOf(item)}`)),
    );
    return found.flat();
  };
  return {
    lifecycle,
    left,
    async close() {
      stop.abort();
      await kube.close();
    },
  };
}

async function sustained(
  directory: string,
  load: Load,
  options: { args: readonly string[]; className: string; stop?: () => Promise<void> },
): Promise<Candidate> {
  const up = await startUp(directory, options.args);
  const client = await connect(up.kubeconfig);
  let counter = 0;
  return {
    processes: { 'berth up': up.child.pid ?? 0 },
    async round() {
      const latencies: number[] = [];
      const pid = up.child.pid ?? 0;
      const residents = [residentMegabytes(pid)];
      let left = load.lives;
      const one = async (): Promise<void> => {
        while (left-- > 0) {
          latencies.push(await client.lifecycle(`v${counter++}`, options.className));
          if (latencies.length % 1000 === 0) residents.push(residentMegabytes(pid));
        }
      };
      await Promise.all(Array.from({ length: load.inFlight }, one));
      return {
        operations: load.lives,
        figures: {
          'p50 ms to published': percentile(latencies, 50),
          'p99 ms to published': percentile(latencies, 99),
          'MB resident at the end': residentMegabytes(pid),
          'MB more in the last thousand': (residents.at(-1) ?? 0) - (residents.at(-2) ?? residents[0] ?? 0),
        },
      };
    },
    async stop() {
      const left = [...(await client.left()), ...volumesMountedBelow(directory)];
      await client.close();
      await stopUp(up);
      await options.stop?.();
      if (left.length > 0) throw new Error(`${left.length} things are left, as ${left[0]}`);
    },
  };
}

/** Without the fixed memory of the nodes of berth up. */
function volumesMountedBelow(directory: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => !line.includes(' - tmpfs berth '))
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${directory}/`));
}

/** The percentile of the values. */
function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN;
}

function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1e6;
}

/** A round is one start: from the launch to the first volume and to the exit of the process. */
async function coldStart(directory: string): Promise<Candidate> {
  let counter = 0;
  return {
    async round() {
      const startedMs = performance.now();
      const up = await startUp(join(directory, `s${counter++}`), []);
      const client = await connect(up.kubeconfig);
      const toPublished = await client.lifecycle('first', 'hostpath');
      const firstMs = performance.now() - startedMs;
      await client.close();
      await stopUp(up);
      return {
        operations: 1,
        figures: {
          'ms to ready': up.readyMs,
          'ms from claim to published': toPublished,
          'ms to the end of the first': firstMs,
        },
      };
    },
  };
}

export const benchmark = defineBenchmark({
  summary: 'Whole lives of volumes on berth up: claim, pod, attach, stage, publish, and back',
  operation: 'lifecycle',
  flags: {
    lives: intFlag({ help: 'Lives a round', default: 1000, min: 1 }),
    'in-flight': intFlag({ help: 'Lifecycles in flight', default: 20, min: 1 }),
  },
  warmups: 1,
  repeats: 3,
  candidates: {
    'hostpath with real mounts': ({ flags, directory }) =>
      sustained(directory, flags, { args: [], className: 'hostpath' }),
    'a driver that answers at once': async ({ flags, directory }) => {
      const driver = await startInstantDriver(join(directory, 'i'));
      return sustained(directory, flags, {
        args: ['--without', 'hostpath', '--driver', `unix://${driver.socket}`, '--nodes', '1'],
        className: driver.name,
        stop: () => driver.stop(),
      });
    },
    'cold start': ({ directory }) => coldStart(directory),
  },
});
