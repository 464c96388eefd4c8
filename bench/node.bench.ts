// A node with real bind mounts: from `attached: true` to published, 200 pods with one volume each, and the cost of an
// idle `berth node`. The driver answers at once (a bind mount of one directory), so that the node is measured.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { csiNodes, nodes, type Pod, volumeAttachments } from '../src/api/kinds.ts';
import { attachmentName, uniqueVolumeName } from '../src/api/volumes.ts';
import { createApiServer } from '../src/apiserver/index.ts';
import {
  Identity,
  Node as NodeService,
  NodeServiceCapability_RPC_Type as Rpc,
} from '../src/csi/generated/csi/v1/csi_pb.ts';
import { implement } from '../src/csi/server/service-implementation.ts';
import { NodeWorld } from '../src/node/testing/node-world.ts';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { openLinuxMounter } from '../src/runtime/mount/linux-mounter.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { startServer } from '../test/apiserver/server-process.ts';
import { type Candidate, defineBenchmark } from './harness.ts';
import { processUsage } from './process-usage.ts';

const DRIVER = 'bench.csi.berth';
const flags = { pods: intFlag({ help: 'Pods mounted at once', default: 200, min: 1 }) };

export const benchmark = defineBenchmark({
  summary: 'Mounting volumes on one node, with real bind mounts (as root)',
  operation: 'pod',
  flags,
  candidates: {
    'attached to published': ({ directory }) => start(directory, (world, round) => one(world, round)),
    'many pods at once': ({ directory, flags }) =>
      start(directory, (world, round) => many(world, round, flags.pods)),
    'idle node': ({ directory }) => idle(directory),
  },
});

type Measure = (
  world: World,
  round: number,
) => Promise<{ operations: number; figures: Record<string, number> }>;

interface World {
  world: NodeWorld;
  /** Target path to the time at which its NodePublishVolume returned. */
  published: Map<string, number>;
}

async function start(directory: string, measure: Measure): Promise<Candidate> {
  const ends: (() => unknown)[] = [];
  const after = (end: () => unknown) => void ends.unshift(end);
  const server = await createApiServer({
    clock: realClock,
    random: realRandom,
    log: silentLog,
    listen: false,
  });
  ends.push(() => server.stop());
  // NodeWorld only uses `after` of a test's context.
  const context = { after } as unknown as ConstructorParameters<typeof NodeWorld>[0];
  const mounter = await openLinuxMounter();
  const world = new NodeWorld(context, server, directory, mounter, realClock, silentLog);
  const source = join(directory, 'source');
  await mkdir(source);
  const published = new Map<string, number>();
  await world.startNode();
  await world.driverObject(DRIVER);
  await world.register('n1', { name: DRIVER, services: services(mounter, source, published) });
  await world.until(csiNodes, 'n1', (now) => now?.spec?.drivers?.length === 1);
  let round = 0;
  return {
    round: () => measure({ world, published }, ++round),
    async stop() {
      await world.end();
      for (const end of ends) await end();
    },
  };
}

function services(
  mounter: Awaited<ReturnType<typeof openLinuxMounter>>,
  source: string,
  published: Map<string, number>,
) {
  return [
    implement(Identity, { getPluginInfo: () => ({ name: DRIVER, vendorVersion: '1' }), probe: () => ({}) }),
    implement(NodeService, {
      nodeGetInfo: () => ({ nodeId: 'n1' }),
      nodeGetCapabilities: () => ({
        capabilities: [{ type: { case: 'rpc', value: { type: Rpc.STAGE_UNSTAGE_VOLUME } } }],
      }),
      nodeStageVolume: () => ({}),
      nodeUnstageVolume: () => ({}),
      async nodePublishVolume({ targetPath }) {
        await mkdir(targetPath);
        await mounter.bind(source, targetPath);
        published.set(targetPath, performance.now());
        return {};
      },
      async nodeUnpublishVolume({ targetPath }) {
        await mounter.unmount(targetPath);
        return {};
      },
    }),
  ];
}

const claim = (name: string) => [{ name: 'data', persistentVolumeClaim: { claimName: name } }];

async function tearDown(world: NodeWorld, made: readonly Pod[]): Promise<void> {
  await Promise.all(made.map((pod) => world.deletePod(pod)));
  await Promise.all(made.map((pod) => world.untilGone(pod)));
  await world.untilInUse('n1', []);
}

async function one({ world, published }: World, round: number) {
  const name = `one-${round}`;
  await world.volume({ name, driver: DRIVER });
  const pod = await world.pod(name, claim(name));
  await world.untilInUse('n1', [uniqueVolumeName(DRIVER, `handle-${name}`)]);
  const attachment = attachmentName({ driver: DRIVER, volumeHandle: `handle-${name}`, nodeName: 'n1' });
  await world.create(volumeAttachments, {
    metadata: { name: attachment },
    spec: { attacher: DRIVER, nodeName: 'n1', source: { persistentVolumeName: `pv-${name}` } },
  });
  const startedMs = performance.now();
  const status = { status: { attached: true } };
  await world.admin.patch(volumeAttachments, { name: attachment }, status, {
    subresource: 'status',
    type: 'merge',
  });
  await world.reportAttached(DRIVER, `handle-${name}`);
  await world.untilRunning(pod);
  const runningMs = performance.now() - startedMs;
  const [endedMs = Number.NaN] = published.values();
  published.clear();
  await tearDown(world, [pod]);
  return {
    operations: 1,
    figures: { 'attached to published ms': endedMs - startedMs, 'attached to Running ms': runningMs },
  };
}

async function many({ world, published }: World, round: number, count: number) {
  const names = Array.from({ length: count }, (_, index) => `many-${round}-${index}`);
  for (const name of names) {
    await world.volume({ name, driver: DRIVER });
    const attachment = attachmentName({ driver: DRIVER, volumeHandle: `handle-${name}`, nodeName: 'n1' });
    await world.create(volumeAttachments, {
      metadata: { name: attachment },
      spec: { attacher: DRIVER, nodeName: 'n1', source: { persistentVolumeName: `pv-${name}` } },
    });
    const status = { status: { attached: true } };
    await world.admin.patch(volumeAttachments, { name: attachment }, status, {
      subresource: 'status',
      type: 'merge',
    });
  }
  const volumesAttached = names.map((name) => ({
    name: uniqueVolumeName(DRIVER, `handle-${name}`),
    devicePath: '',
  }));
  await world.admin.patch(
    nodes,
    { name: 'n1' },
    { status: { volumesAttached } },
    { subresource: 'status', type: 'merge' },
  );
  const startedMs = performance.now();
  const made = await Promise.all(names.map((name) => world.pod(name, claim(name))));
  await Promise.all(made.map((pod) => world.untilRunning(pod)));
  const runningMs = performance.now() - startedMs;
  published.clear();
  const teardownMs = performance.now();
  await tearDown(world, made);
  return {
    operations: count,
    figures: { 'all Running ms': runningMs, 'all gone ms': performance.now() - teardownMs },
  };
}

/** A separate process, as in a cluster. Each round starts it; the first one fills the compile cache. */
async function idle(directory: string): Promise<Candidate> {
  const server = await startServer({ dir: directory });
  return {
    async round() {
      const node = await startNode(directory, server.kubeconfig);
      const pid = node.pid ?? 0;
      const seconds = 3;
      // Wait until start-up work is done.
      await wait(seconds);
      const before = processUsage(pid);
      await wait(seconds);
      const after = processUsage(pid);
      node.kill('SIGTERM');
      await once(node, 'exit');
      if (before === undefined || after === undefined) throw new Error('berth node ended unexpectedly');
      const figures = {
        'CPU ms a second': (after.cpuMs - before.cpuMs) / seconds,
        'resident MB': after.memoryBytes / 1e6,
        'most resident MB': after.peakMemoryBytes / 1e6,
      };
      return { operations: 1, figures };
    },
    async stop() {
      await server.end('SIGTERM');
    },
  };
}

async function startNode(directory: string, kubeconfig: string): Promise<ChildProcess> {
  const berth = fileURLToPath(new URL('../bin/berth', import.meta.url));
  const options = [`--kubeconfig=${kubeconfig}`, `--root-dir=${join(directory, 'n')}`];
  const node = spawn(process.execPath, [berth, 'node', '--hostname-override=n1', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(node, 'exit').then(([code]) => {
    throw new Error(`berth node ended with ${code} before it was ready`);
  });
  await Promise.race([once(createInterface({ input: node.stdout }), 'line'), ended]);
  ended.catch(() => {});
  return node;
}

const wait = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
