import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { leases, type Node, nodes } from '../../api/kinds.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isNotFound, KubeError } from '../../runtime/kube/kube-error.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { createNodeRegistration } from './node-registration.ts';

const HOST = {
  hostname: 'host',
  os: 'linux',
  arch: 'amd64',
  kernelVersion: '6.0',
  cpuCount: 2,
  memoryBytes: 1 << 30,
  addresses: ['192.0.2.1'],
  version: 'v0',
};
const LEASE = { name: 'n1', namespace: 'kube-node-lease' };
const lost = () => new KubeError({ reason: 'Unreachable', code: 0, message: 'lost' });
const conflict = () => new KubeError({ reason: 'Conflict', code: 409, message: 'changed meanwhile' });

async function start(t: TestContext) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  const clock = new VirtualClock();
  const log = memoryLog();
  const stop = new AbortController();
  t.after(() => stop.abort());
  /** Errors of the next calls, by verb; a call without one goes through. */
  const faults: Record<'create' | 'patch', (() => Error)[]> = { create: [], patch: [] };
  const faulty = (verb: 'create' | 'patch') => {
    const fault = faults[verb].shift();
    if (fault) throw fault();
  };
  const world = { readsOfDisk: 0, beforeNodeIsWritten: async () => {} };
  const through: KubeClient = {
    ...kube,
    async create(...call) {
      faulty('create');
      return await kube.create(...call);
    },
    async patch(...call) {
      faulty('patch');
      if (call[0].kind === nodes.kind) await world.beforeNodeIsWritten();
      return await kube.patch(...call);
    },
  };
  const registration = createNodeRegistration({
    kube: through,
    nodeName: 'n1',
    host: HOST,
    labels: { zone: 'a' },
    async volumesOnDisk() {
      world.readsOfDisk++;
      return ['kubernetes.io/csi/d^h'];
    },
    volumesInUse: async () => ['kubernetes.io/csi/d^used'],
    clock,
    random: seededRandom(1),
    log,
  });
  const read = async () => await kube.get(nodes, { name: 'n1' });
  const renewed = async () => (await kube.get(leases, LEASE)).spec?.renewTime;
  /** Lets time pass in steps until the condition holds. */
  const passing = async (stepMs: number, isOver: () => Promise<boolean> | boolean) => {
    while (!(await isOver())) {
      await clock.advance(stepMs);
      await setImmediate();
    }
  };
  const registered = async () => {
    let isOver = false;
    const registering = registration.register(stop.signal).then(() => {
      isOver = true;
    });
    await passing(1000, () => isOver);
    await registering;
  };
  return {
    kube,
    clock,
    log,
    faults,
    world,
    registration,
    read,
    renewed,
    passing,
    registered,
    signal: stop.signal,
  };
}

const heartbeatOf = (node: Node) =>
  node.status?.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime;

test('a node that cannot reach the API server registers once it can', async (t) => {
  const { log, faults, read, renewed, registered } = await start(t);
  faults.create.push(lost, lost);
  await registered();
  assert.equal(log.lines.filter(({ message }) => message.includes('could not register')).length, 2);
  const node = await read();
  assert.equal(node.metadata.labels?.zone, 'a');
  assert.deepEqual(node.status?.volumesInUse, ['kubernetes.io/csi/d^h']);
  assert.notEqual(await renewed(), undefined);
});

test('a Node that is there keeps its labels and its volumes in use, and gets the labels that it lacks', async (t) => {
  const { kube, read, registered } = await start(t);
  await kube.create(nodes, { metadata: { name: 'n1', labels: { zone: 'b', mine: 'yes' } } });
  const status = { conditions: [{ type: 'Ready', status: 'True' }], volumesInUse: ['kubernetes.io/csi/d^i'] };
  await kube.patch(nodes, { name: 'n1' }, { status }, { type: 'merge', subresource: 'status' });
  await registered();
  const node = await read();
  assert.deepEqual(
    [node.metadata.labels?.zone, node.metadata.labels?.mine, node.metadata.labels?.['kubernetes.io/os']],
    ['b', 'yes', 'linux'],
  );
  assert.deepEqual(node.status?.volumesInUse, ['kubernetes.io/csi/d^i']);
});

test('a node renews its lease every ten seconds, and its status every five minutes', async (t) => {
  const { clock, registration, read, renewed, passing, registered, signal } = await start(t);
  await registered();
  const [lease, heartbeat] = [await renewed(), heartbeatOf(await read())];
  const running = registration.run(signal);
  running.catch(() => {});
  await clock.advance(9_000);
  assert.equal(await renewed(), lease);
  await passing(1000, async () => (await renewed()) !== lease);
  assert.equal(heartbeatOf(await read()), heartbeat);
  await passing(10_000, async () => heartbeatOf(await read()) !== heartbeat);
});

test('[ATT-10] a Node that somebody else makes again gets the volumes in use with its first status', async (t) => {
  const { kube, world, registration, read, passing, registered, signal } = await start(t);
  await registered();
  await kube.delete(nodes, { name: 'n1' });
  await kube.create(nodes, { metadata: { name: 'n1' } });
  registration.run(signal).catch(() => {});
  await passing(10_000, async () => heartbeatOf(await read()) !== undefined);
  assert.deepEqual((await read()).status?.volumesInUse, ['kubernetes.io/csi/d^used']);
  assert.equal(world.readsOfDisk, 1, 'reading the disk tidies it up, which would race with mounts');
});

for (const [when, before] of [
  ['before the heartbeat reads the Node', true],
  ['between its read and its write', false],
] as const) {
  test(`[ATT-10] a heartbeat keeps volumes in use that were reported ${when}`, async (t) => {
    const { kube, world, registration, read, passing, registered, signal } = await start(t);
    await registered();
    await kube.delete(nodes, { name: 'n1' });
    await kube.create(nodes, { metadata: { name: 'n1' } });
    const volumesInUse = ['kubernetes.io/csi/d^newer', 'kubernetes.io/csi/d^used'];
    const report = async () => {
      const options = { type: 'merge', subresource: 'status' } as const;
      await kube.patch(nodes, { name: 'n1' }, { status: { volumesInUse } }, options);
    };
    if (before) await report();
    else
      world.beforeNodeIsWritten = async () => {
        world.beforeNodeIsWritten = async () => {};
        await report();
      };
    registration.run(signal).catch(() => {});
    await passing(10_000, async () => heartbeatOf(await read()) !== undefined);
    assert.deepEqual((await read()).status?.volumesInUse, volumesInUse);
  });
}

test('a lease that somebody deletes is made again, owned by the Node', async (t) => {
  const { kube, registration, read, passing, registered, signal } = await start(t);
  await registered();
  await kube.delete(leases, LEASE);
  registration.run(signal).catch(() => {});
  const lease = () => kube.get(leases, LEASE).catch(() => undefined);
  await passing(1000, async () => (await lease()) !== undefined);
  const owner = (await lease())?.metadata.ownerReferences?.[0];
  assert.equal(owner?.uid, (await read()).metadata.uid);
});

test('a heartbeat that meets a change of somebody else is sent again at once, without backoff', async (t) => {
  const { clock, faults, registration, renewed, registered, signal } = await start(t);
  await registered();
  const lease = await renewed();
  registration.run(signal).catch(() => {});
  faults.patch.push(conflict);
  await clock.advance(10_000);
  while (faults.patch.length > 0) await setImmediate();
  await setImmediate();
  await clock.advance(1);
  while ((await renewed()) === lease) await setImmediate();
});

test('a Node that an administrator deletes stays deleted, and the console says so', async (t) => {
  const { kube, log, registration, read, passing, registered, signal } = await start(t);
  await registered();
  await kube.delete(nodes, { name: 'n1' });
  registration.run(signal).catch(() => {});
  await passing(60_000, () => log.lines.some(({ message }) => message.includes('was deleted')));
  await assert.rejects(read(), isNotFound);
});
