// The server's list when a mount may start, for every outcome of the earlier writes.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Node, nodes } from '../../api/kinds.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import { lagging } from '../../runtime/informer/testing/lagging.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { createVolumesInUse } from './volumes-in-use.ts';

const VOLUME = 'kubernetes.io/csi/driver.example^data';
const soon = () => AbortSignal.timeout(20_000);
const lists = (node: Node | undefined, ...keys: string[]) =>
  node !== undefined && (node.status?.volumesInUse ?? []).join() === keys.join();

/** A node that uses `VOLUME` and has reported it. Its writes go through `patches`. */
async function reportingNode(t: TestContext) {
  const kube = (await testServer(t)).client({ name: 'admin', groups: ['system:masters'] });
  await kube.create(nodes, { metadata: { name: 'n1' } });
  const stop = new AbortController();
  const common = { clock: realClock, random: seededRandom('in use'), log: silentLog };
  const lag = lagging(nodes);
  const world = {
    kube,
    lag,
    used: new Set([VOLUME]),
    patches: (send: () => Promise<unknown>): Promise<unknown> => send(),
  };
  const own = createInformers({ ...common, kube: lag.faults(kube) });
  const faulty: KubeClient = {
    ...kube,
    patch: (...call) => world.patches(() => kube.patch(...call)) as never,
  };
  const inUse = createVolumesInUse({
    ...common,
    kube: faulty,
    nodeName: 'n1',
    node: own.of(nodes),
    inUse: () => world.used,
    mayShrink: () => true,
  });
  own.start(stop.signal);
  await own.synced(soon());
  const running = inUse.run(stop.signal);
  t.after(() => {
    lag.release();
    stop.abort();
    running.catch(() => {});
  });
  /** As after a restart: it knows nothing of the writes of the first. */
  const another = () => {
    const next = createVolumesInUse({
      ...common,
      kube,
      nodeName: 'n1',
      node: own.of(nodes),
      inUse: () => world.used,
      mayShrink: () => true,
    });
    void next.run(stop.signal);
    return next;
  };
  const others = createInformers({ ...common, kube });
  const seen = others.of(nodes);
  others.start(stop.signal);
  const until = (test: (node: Node | undefined) => boolean) => seen.waitFor('n1', test, soon());
  await inUse.ensure(VOLUME, soon());
  await until((node) => lists(node, VOLUME));
  return { world, inUse, another, until, read: () => kube.get(nodes, { name: 'n1' }) };
}

/** The next write is given up by its sender. The result sends it after all. */
function giveUpNext(world: Awaited<ReturnType<typeof reportingNode>>['world']) {
  const { promise: given, resolve } = Promise.withResolvers<() => Promise<unknown>>();
  world.patches = async (send) => {
    world.patches = (next) => next();
    resolve(send);
    throw new KubeError({ reason: 'Unreachable', code: 0, message: 'the answer was lost' });
  };
  return given;
}

test('[ATT-10] [MNT-1] a volume whose removal from volumesInUse got no response is listed again before it is mounted', async (t) => {
  const { world, inUse, until, read } = await reportingNode(t);
  world.lag.hold();
  world.patches = async (send) => {
    world.patches = (next) => next();
    await send();
    throw new KubeError({ reason: 'Unreachable', code: 0, message: 'the answer was lost' });
  };
  world.used.clear();
  inUse.changed();
  await until((node) => lists(node));
  world.used.add(VOLUME);
  await inUse.ensure(VOLUME, soon());
  assert.deepEqual((await read()).status?.volumesInUse, [VOLUME]);
});

test('[ATT-10] [MNT-1] a mount during the removal from volumesInUse waits until the volume is listed again', async (t) => {
  const { world, inUse, read } = await reportingNode(t);
  const sending = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  world.patches = async (send) => {
    world.patches = (next) => next();
    sending.resolve();
    await held.promise;
    return send();
  };
  world.used.clear();
  inUse.changed();
  await sending.promise;
  assert(!inUse.isReported(VOLUME));
  world.used.add(VOLUME);
  const ensured = inUse.ensure(VOLUME, soon());
  held.resolve();
  await ensured;
  assert.deepEqual((await read()).status?.volumesInUse, [VOLUME]);
});

test('[ATT-10] a Node that is deleted and created again gets its volumesInUse again; until then nothing is mounted', async (t) => {
  const { world, inUse, until } = await reportingNode(t);
  await world.kube.delete(nodes, { name: 'n1' });
  await until((node) => node === undefined);
  world.used.add('another');
  await assert.rejects(inUse.ensure('another', soon()), /Node n1 does not exist/);
  await world.kube.create(nodes, { metadata: { name: 'n1' } });
  await until((node) => lists(node, 'another', VOLUME));
});

test('[MNT-1] a cancelled mount does not unlist the volume of another mount', async (t) => {
  const { world, inUse, read } = await reportingNode(t);
  const sending = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  world.patches = async (send) => {
    sending.resolve();
    await held.promise;
    return send();
  };
  const given = new AbortController();
  const first = inUse.ensure('another', given.signal);
  const second = inUse.ensure('another', soon());
  await sending.promise;
  assert.deepEqual(inUse.list(), ['another', VOLUME]);
  given.abort(new Error('given up'));
  await assert.rejects(first, /given up/);
  held.resolve();
  await second;
  assert(inUse.isReported('another'));
  assert.deepEqual((await read()).status?.volumesInUse, ['another', VOLUME]);
});

for (const { name, restart } of [
  { name: 'that its sender gave up', restart: false },
  { name: 'of the process before', restart: true },
]) {
  for (const others of [[], ['another']]) {
    const what = others.length === 0 ? 'it' : 'it and another';
    test(`[ATT-10] [MNT-1] a removal from volumesInUse ${name} takes no effect once ${what} may be mounted`, async (t) => {
      const { world, inUse, another, read } = await reportingNode(t);
      world.lag.hold();
      const given = giveUpNext(world);
      world.used.clear();
      inUse.changed();
      const sendLate = await given;
      world.used = new Set([VOLUME, ...others]);
      await (restart ? another() : inUse).ensure(VOLUME, soon());
      await assert.rejects(sendLate(), /Conflict|conflict|modified/);
      const listed = new Set((await read()).status?.volumesInUse);
      assert.ok(listed.has(VOLUME));
    });
  }
}

test('a list that was written twice, so that an earlier write cannot take effect, ends with each volume once', async (t) => {
  const { another, until } = await reportingNode(t);
  await another().ensure(VOLUME, soon());
  await until((node) => lists(node, VOLUME));
});

test('[MNT-1] a volume that is mounted while another one is listed twice is listed, too', async (t) => {
  const { world, inUse, until } = await reportingNode(t);
  await world.kube.patch(
    nodes,
    { name: 'n1' },
    { status: { volumesInUse: [VOLUME, VOLUME] } },
    { type: 'merge', subresource: 'status' },
  );
  world.used.add('another');
  await inUse.ensure('another', soon());
  await until((node) => lists(node, 'another', VOLUME));
});

test('[MNT-1] reports that meet other writes of the Node need few attempts, and both sides get done', async (t) => {
  const { world, inUse, read } = await reportingNode(t);
  world.lag.hold();
  const count = 50;
  let sent = 0;
  world.patches = (send) => {
    sent += 1;
    return send();
  };
  const others = async () => {
    for (let done = 0; done < count; ) {
      const { metadata, status } = await read();
      const volumesAttached = [...(status?.volumesAttached ?? []), { name: `v${done}`, devicePath: '' }];
      const patch = { metadata: { resourceVersion: metadata.resourceVersion }, status: { volumesAttached } };
      const options = { type: 'merge', subresource: 'status' } as const;
      const written = await world.kube.patch(nodes, { name: 'n1' }, patch, options).catch(() => undefined);
      if (written) done += 1;
    }
  };
  const reports = async () => {
    for (let i = 0; i < count; i++) {
      world.used.add(`used${i}`);
      await inUse.ensure(`used${i}`, soon());
    }
  };
  await Promise.all([others(), reports()]);
  const { status } = await read();
  assert.equal(status?.volumesAttached?.length, count);
  assert.equal(status?.volumesInUse?.length, count + 1);
  assert.ok(sent <= 3 * count, `${sent} writes for ${count} reports`);
});
