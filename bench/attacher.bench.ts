// Attaches and detaches per second: an attacher process with a driver that answers at once (in this process), on an
// embedded API server, or on kube-apiserver and etcd if BERTH_PEERS has them. Compared with the official csi-attacher,
// if BERTH_PEERS has it, on the same server without rate limits. `hand-over` measures failover between two replicas:
// from SIGTERM to the leader until the other one has attached a volume.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { csiNodes, leases, persistentVolumes, volumeAttachments } from '../src/api/kinds.ts';
import { serveCsi } from '../src/csi/server/serve-csi.ts';
import { ScriptedDriver } from '../src/csi/testing/scripted-driver.ts';
import { choiceFlag, intFlag } from '../src/runtime/flags/flag.ts';
import { createHttpKubeClient, type HttpKubeClient } from '../src/runtime/kube/http-kube-client.ts';
import { loadKubeConfig } from '../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { peerPath } from '../test/capabilities.ts';
import { startKubeApiserver } from '../test/interop/kube-apiserver.ts';
import { type Candidate, defineBenchmark, needPeers, Unavailable } from './harness.ts';
import { processUsage } from './process-usage.ts';

const berth = fileURLToPath(new URL('../bin/berth', import.meta.url));
const DRIVER = 'bench.csi.test';
const LEASE = 'external-attacher-leader-bench-csi-test';

interface Flags {
  server: 'embedded' | 'kube-apiserver';
  volumes: number;
  workers: number;
  handOver: 'no' | 'yes';
}

interface Server {
  kubeconfig: string;
  processes: Record<string, number>;
  stop(): Promise<void>;
}

async function startServer(kind: Flags['server'], directory: string): Promise<Server> {
  if (kind === 'kube-apiserver') {
    needPeers('etcd', 'kube-apiserver');
    return startKubeApiserver(directory);
  }
  const kubeconfig = join(directory, 'kubeconfig');
  const argv = [berth, 'apiserver', `--data-dir=${directory}/api`, `--kubeconfig=${kubeconfig}`];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  return { kubeconfig, processes: { apiserver: child.pid as number }, stop: () => ended(child, 'SIGTERM') };
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

/** `command` starts an attacher with these flags. */
async function attaching(command: string[], flags: Flags, directory: string): Promise<Candidate> {
  const server = await startServer(flags.server, directory);
  const config = await loadKubeConfig({ path: server.kubeconfig, env: {} });
  const kube = createHttpKubeClient({ config, clock: realClock, random: realRandom, log: silentLog });
  const driver = new ScriptedDriver({ name: DRIVER });
  const { services, interceptor } = driver;
  const socket = join(directory, 'csi.sock');
  const serving = await serveCsi({
    address: socket,
    services,
    interceptors: [interceptor],
    clock: realClock,
    log: silentLog,
  });
  const start = (...more: string[]) =>
    spawn(
      command[0] as string,
      [
        ...command.slice(1),
        `--csi-address=${socket}`,
        `--kubeconfig=${server.kubeconfig}`,
        `--worker-threads=${flags.workers}`,
        ...more,
      ],
      { stdio: 'ignore' },
    );
  await kube.create(csiNodes, {
    metadata: { name: 'node-a' },
    spec: { drivers: [{ name: DRIVER, nodeID: 'id-a', topologyKeys: [] }] },
  });
  const lease = ['--leader-election', '--leader-election-namespace=default'];
  const running: ChildProcess[] = [];
  const stop = async () => {
    for (const child of running) await ended(child, 'SIGKILL');
    await kube.close();
    await serving.stop(0);
    await server.stop();
  };
  let count = 0;
  /** Creates volumes and their attachments, outside of the measurement. */
  const prepare = async (volumes: number): Promise<string[]> => {
    const names = Array.from({ length: volumes }, () => `v${count++}`);
    await inParallel(names, async (name) => {
      const volume = { id: name, name, capacityBytes: 1n, parameters: {}, topology: [] };
      driver.volumes.set(name, { ...volume, publishedOn: new Map() });
      await kube.create(persistentVolumes, {
        metadata: { name },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          csi: { driver: DRIVER, volumeHandle: name },
        },
      });
      // Volumes that pods use are Bound.
      const bound = { status: { phase: 'Bound' } };
      await kube.patch(persistentVolumes, { name }, bound, { type: 'merge', subresource: 'status' });
    });
    return names;
  };
  const attach = (name: string) =>
    kube.create(volumeAttachments, {
      metadata: { name },
      spec: { attacher: DRIVER, nodeName: 'node-a', source: { persistentVolumeName: name } },
    });
  const detach = (name: string) => kube.delete(volumeAttachments, { name });
  // Started twice: at the first start from changed sources Node loads its type stripper, which takes 15 MB.
  const first = start();
  const few = await prepare(20);
  await Promise.all([everything(kube, few, 'attached'), inParallel(few, attach)]);
  await Promise.all([everything(kube, few, 'gone'), inParallel(few, detach)]);
  await ended(first, 'SIGTERM');
  running.push(...(flags.handOver === 'yes' ? [start(...lease), start(...lease)] : [start()]));
  return {
    processes: { ...server.processes, attacher: running[0]?.pid as number },
    stop,
    round: async () => {
      if (flags.handOver === 'yes')
        return handOver({ kube, running, start: () => start(...lease), prepare, attach });
      const names = await prepare(flags.volumes);
      const serverCpuMs = () =>
        Object.values(server.processes).reduce((sum, pid) => sum + (processUsage(pid)?.cpuMs ?? 0), 0);
      const startCpuMs = serverCpuMs();
      const attachedMs = await timed(async () => {
        await Promise.all([everything(kube, names, 'attached'), inParallel(names, attach)]);
      });
      const attachedCpuMs = serverCpuMs();
      const detachedMs = await timed(async () => {
        await Promise.all([everything(kube, names, 'gone'), inParallel(names, detach)]);
      });
      return {
        operations: names.length,
        figures: {
          'attaches/s': (names.length * 1000) / attachedMs,
          'detaches/s': (names.length * 1000) / detachedMs,
          // Other load on the machine does not change these.
          'server CPU ms/attach': (attachedCpuMs - startCpuMs) / names.length,
          'server CPU ms/detach': (serverCpuMs() - attachedCpuMs) / names.length,
        },
      };
    },
  };
}

async function handOver(given: {
  kube: HttpKubeClient;
  running: ChildProcess[];
  start(): ChildProcess;
  prepare(volumes: number): Promise<string[]>;
  attach(name: string): Promise<unknown>;
}) {
  const { kube, running } = given;
  const [before = '', after = ''] = await given.prepare(2);
  await given.attach(before);
  await everything(kube, [before], 'attached');
  const holder = async () =>
    (await kube.get(leases, { namespace: 'default', name: LEASE })).spec?.holderIdentity ?? '';
  const first = await holder();
  const totalMs = await timed(async () => {
    // Which replica leads is not visible from outside; the leader releases the lease when it is stopped.
    running[0]?.kill('SIGTERM');
    await given.attach(after);
    await everything(kube, [after], 'attached');
  });
  const wasLeader = (await holder()) !== first;
  const child = running.shift();
  if (child !== undefined) await ended(child, 'SIGKILL');
  running.push(given.start());
  return { operations: 1, figures: wasLeader ? { 'SIGTERM to attached by the other, ms': totalMs } : {} };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

async function inParallel(names: readonly string[], work: (name: string) => Promise<unknown>): Promise<void> {
  const waiting = [...names];
  const worker = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) await work(name);
  };
  await Promise.all(Array.from({ length: 32 }, worker));
}

/** Watches until all of these are attached, or gone. */
async function everything(
  kube: HttpKubeClient,
  names: readonly string[],
  wanted: 'attached' | 'gone',
): Promise<void> {
  const waiting = new Set(names);
  const stop = new AbortController();
  const { items, metadata } = await kube.list(volumeAttachments);
  for (const { metadata: own, status } of items)
    if (wanted === 'attached' && status?.attached) waiting.delete(own.name);
  if (waiting.size === 0) return;
  const { resourceVersion } = metadata;
  for (;;) {
    for await (const event of kube.watch(volumeAttachments, { resourceVersion, signal: stop.signal })) {
      if (event.type === 'BOOKMARK') continue;
      const isThere = wanted === 'gone' ? event.type === 'DELETED' : event.object.status?.attached;
      if (isThere) waiting.delete(event.object.metadata.name);
      if (waiting.size === 0) return;
    }
  }
}

export const benchmark = defineBenchmark({
  summary: 'Volumes attached and detached through VolumeAttachments',
  operation: 'volume',
  flags: {
    server: choiceFlag({
      help: 'Which API server',
      choices: ['embedded', 'kube-apiserver'],
      default: 'embedded',
    }),
    volumes: intFlag({ help: 'Volumes a round', default: 500, min: 1 }),
    workers: intFlag({ help: '--worker-threads of the attacher', default: 100, min: 1 }),
    'hand-over': choiceFlag({
      help: 'Measure the hand-over between two replicas instead',
      choices: ['no', 'yes'],
      default: 'no',
    }),
  },
  candidates: {
    berth: ({ flags, directory }) => attaching([process.execPath, berth, 'attacher'], flags, directory),
    'official (Go)': ({ flags, directory }) => {
      const program = peerPath('csi-attacher');
      if (program === undefined) throw new Unavailable('BERTH_PEERS has no csi-attacher');
      return attaching([program, '--kube-api-qps=10000', '--kube-api-burst=10000'], flags, directory);
    },
  },
});
