// The health monitor in this process: a whole API server, a scripted driver, and time that the test advances.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  type Event,
  events,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
} from '../../api/kinds.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import { loopbackTransport } from '../../csi/client/loopback-transport.ts';
import { ScriptedDriver, type ScriptedDriverOptions } from '../../csi/testing/scripted-driver.ts';
import { createEventRecorder } from '../../runtime/events/create-event-recorder.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { createMetrics } from '../../runtime/metrics/metrics.ts';
import { seededRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { askDriver } from '../common/identify-driver.ts';
import { boundClaim, growingClass } from '../resizer/testing/resizer-world.ts';
import { untilAny } from '../testing/until-any.ts';
import { createHealthMonitor, reportsConditions } from './health-monitor.ts';

const DRIVER = 'scripted.csi.test';
const COMPONENT = `csi-pv-monitor-controller-${DRIVER}`;
const INTERVAL_MS = 1000;
const status = { type: 'merge', subresource: 'status' } as const;

async function monitorWorld(
  t: TestContext,
  controller: ScriptedDriverOptions['controller'] = ['LIST_VOLUMES', 'VOLUME_CONDITION'],
) {
  const server = await testServer(t);
  const admin = server.client(server.adminUser);
  const driver = new ScriptedDriver({ name: DRIVER, ...(controller && { controller }) });
  await growingClass(admin);
  const clock = new VirtualClock({ startMs: Date.parse('2026-01-01T00:00:00Z') });
  const log = memoryLog();
  const random = seededRandom('monitor');
  const bind = (name: string, phase = 'Bound') =>
    admin.patch(persistentVolumes, { name: `pv-${name}` }, { status: { phase } }, status);
  for (const name of ['one', 'two']) {
    await boundClaim({ admin, driver }, name);
    await bind(name);
  }
  return {
    admin,
    driver,
    clock,
    bind,
    ill(name: string, why: string | undefined): void {
      const volume = driver.volumes.get(`vol-${name}`);
      assert.ok(volume);
      if (why === undefined) delete volume.illness;
      else volume.illness = why;
    },
    told: (name: string, reason: string): Promise<Event> =>
      untilAny(admin, events, (event) => event.involvedObject.name === name && event.reason === reason),
    async tales(): Promise<string[]> {
      const { items } = await admin.list(events);
      return items.map(({ involvedObject, reason }) => `${involvedObject.name} ${reason}`).sort();
    },
    async start() {
      const stop = new AbortController();
      const csi = loopbackTransport(driver.services, {
        clock: realClock,
        log,
        interceptors: [driver.interceptor],
      });
      const informers = createInformers({ kube: admin, clock: realClock, random, log });
      const recorder = createEventRecorder({
        kube: admin,
        clock: realClock,
        random,
        log,
        component: COMPONENT,
        signal: stop.signal,
      });
      const found = await askDriver(csi, { timeoutMs: 5000, signal: stop.signal });
      const ports = { kube: admin, informers, csi, driver: found, clock, log, random, recorder };
      const monitor = createHealthMonitor(
        { ...ports, metrics: createMetrics() },
        {
          timeoutMs: 5000,
          listIntervalMs: INTERVAL_MS,
          checkIntervalMs: INTERVAL_MS,
          workers: 2,
          watchesNodes: true,
        },
      );
      informers.start(stop.signal);
      const running = monitor.run(stop.signal).catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      });
      t.after(async () => {
        stop.abort(new Error('the test is over'));
        await running;
      });
    },
    /** All volumes were looked at once more, after what the test did before. */
    async look(): Promise<void> {
      const listed = () => driver.calls.length;
      for (let rounds = 0; rounds < 2; rounds++) {
        const before = listed();
        await clock.advance(INTERVAL_MS);
        await driver.until(() => listed() > before);
      }
    },
  };
}

for (const how of ['LIST_VOLUMES', 'GET_VOLUME'] as const) {
  test(`[HLT-1] an abnormal condition is reported with its message, and its end once (${how})`, async (t) => {
    const world = await monitorWorld(t, [how, 'VOLUME_CONDITION']);
    world.ill('one', 'degraded');
    await world.start();
    const abnormal = await world.told('one', 'VolumeConditionAbnormal');
    assert.deepEqual([abnormal.type, abnormal.message], ['Warning', 'degraded']);
    world.ill('one', undefined);
    await world.look();
    const normal = await world.told('one', 'VolumeConditionNormal');
    assert.equal(normal.type, 'Normal');
    await world.look();
    assert.deepEqual(await world.tales(), ['one VolumeConditionAbnormal', 'one VolumeConditionNormal']);
  });
}

test('[HLT-1] an illness without words gets some', async (t) => {
  const world = await monitorWorld(t);
  world.ill('one', '');
  await world.start();
  const { message } = await world.told('one', 'VolumeConditionAbnormal');
  assert.equal(message, 'The driver reports an abnormal condition');
});

test('[HLT-1] only bound volumes of the driver are monitored, and only their own claims told', async (t) => {
  const world = await monitorWorld(t);
  const { admin, driver } = world;
  for (const name of ['foreign', 'released', 'deleted', 'replaced']) {
    await boundClaim({ admin, driver }, name, name === 'foreign' ? { csi: { driver: 'other.test' } } : {});
    await world.bind(name, name === 'released' ? 'Released' : 'Bound');
    world.ill(name, 'degraded');
  }
  await admin.delete(persistentVolumes, { name: 'pv-deleted' });
  await admin.patch(
    persistentVolumes,
    { name: 'pv-replaced' },
    { spec: { claimRef: { uid: 'another' } } },
    { type: 'merge' },
  );
  world.ill('two', 'degraded');
  await world.start();
  await world.told('two', 'VolumeConditionAbnormal');
  await world.look();
  assert.deepEqual([...new Set(await world.tales())], ['two VolumeConditionAbnormal']);
});

test('[HLT-1] what an earlier process reported last is read from its Events', async (t) => {
  const world = await monitorWorld(t);
  const { admin } = world;
  const { metadata } = await admin.get(persistentVolumeClaims, { name: 'one', namespace: 'default' });
  const other = await admin.get(persistentVolumeClaims, { name: 'two', namespace: 'default' });
  const report = (
    name: string,
    uid: string,
    reason: string,
    more: { at?: string; component?: string } = {},
  ) =>
    admin.create(events, {
      metadata: { generateName: 'e-', namespace: 'default' },
      involvedObject: { kind: 'PersistentVolumeClaim', name, namespace: 'default', uid },
      reason,
      source: { component: more.component ?? COMPONENT },
      ...(more.at && { lastTimestamp: more.at }),
    } as never);
  await report('one', metadata.uid, 'VolumeConditionAbnormal', { at: '2026-01-01T00:00:02Z' });
  await report('one', metadata.uid, 'VolumeConditionNormal', { at: '2026-01-01T00:00:01Z' });
  await report('one', metadata.uid, 'Other', { at: '2026-01-01T00:00:03Z' });
  const theirs = { at: '2026-01-01T00:00:01Z', component: 'csi-pv-monitor-controller-other.test' };
  await report('two', other.metadata.uid, 'VolumeConditionAbnormal', theirs);
  await world.start();
  await untilAny(
    admin,
    events,
    ({ reason, message }) => reason === 'VolumeConditionNormal' && message !== undefined && message !== '',
  );
  await world.look();
  const tales = await world.tales();
  assert.equal(tales.filter((tale) => tale === 'one VolumeConditionNormal').length, 2);
  assert.equal(tales.includes('two VolumeConditionNormal'), false, 'another driver reported that');
});

test('[HLT-1] a driver needs VOLUME_CONDITION and a way to ask', () => {
  const asks = (...capabilities: string[]) => reportsConditions(new Set(capabilities) as never);
  assert.equal(asks('LIST_VOLUMES', 'VOLUME_CONDITION'), true);
  assert.equal(asks('GET_VOLUME', 'VOLUME_CONDITION'), true);
  assert.equal(asks('VOLUME_CONDITION'), false);
  assert.equal(asks('LIST_VOLUMES', 'GET_VOLUME'), false);
});

async function onNode(
  world: Awaited<ReturnType<typeof monitorWorld>>,
  node: string,
  pod: string,
  claimName?: string,
) {
  const volumes = claimName === undefined ? [] : [{ name: 'data', persistentVolumeClaim: { claimName } }];
  const spec = { nodeName: node, containers: [{ name: 'c', image: 'i' }], volumes };
  await world.admin.create(pods, { metadata: { name: pod, namespace: 'default' }, spec });
}
const ready = (
  world: Awaited<ReturnType<typeof monitorWorld>>,
  name: string,
  is: string,
  sinceMs: number,
) => {
  const lastTransitionTime = new Date(world.clock.now() - sinceMs).toISOString().replace(/\.\d+Z$/, 'Z');
  const conditions = [{ type: 'Ready', status: is, lastTransitionTime }];
  return world.admin.patch(nodes, { name }, { status: { conditions } }, status);
};

test('[HLT-1] a node is lost five minutes after it was last Ready, and its return is reported', async (t) => {
  const world = await monitorWorld(t);
  for (const name of ['n1', 'n2', 'n3', 'n4']) await world.admin.create(nodes, { metadata: { name } });
  await ready(world, 'n1', 'Unknown', 299_000);
  await ready(world, 'n2', 'False', 300_000);
  await ready(world, 'n3', 'True', 900_000);
  await onNode(world, 'n1', 'late', 'one');
  await onNode(world, 'n2', 'lost', 'two');
  await onNode(world, 'n2', 'bare');
  await onNode(world, 'n3', 'well', 'one');
  await onNode(world, 'n4', 'silent', 'one');
  await world.start();
  const { message, type } = await world.told('lost', 'NodeFailed');
  assert.deepEqual([type, message], ['Warning', 'Node n2 is lost; it holds the volumes of default/two']);
  assert.equal(
    (await world.told('two', 'NodeFailed')).message,
    'Node n2 is lost; pod default/lost uses the volume there',
  );
  assert.deepEqual(await world.tales(), ['lost NodeFailed', 'two NodeFailed']);
  await world.clock.advance(1000);
  await world.told('late', 'NodeFailed');
  await ready(world, 'n2', 'True', 0);
  assert.equal((await world.told('lost', 'NodeRecovered')).type, 'Normal');
  await world.told('two', 'NodeRecovered');
  const pods = (await world.tales()).filter((tale) => /^(bare|well|silent)/.test(tale));
  assert.deepEqual(pods, []);
});

test('[HLT-1] a deleted node is lost at once', async (t) => {
  const world = await monitorWorld(t);
  for (const name of ['n1', 'n2']) await world.admin.create(nodes, { metadata: { name } });
  await ready(world, 'n1', 'True', 0);
  await ready(world, 'n2', 'False', 900_000);
  await onNode(world, 'n1', 'user', 'one');
  await onNode(world, 'n2', 'other', 'two');
  await world.start();
  // Nodes are watched by now.
  await world.told('other', 'NodeFailed');
  await world.admin.delete(nodes, { name: 'n1' });
  const { message } = await world.told('user', 'NodeFailed');
  assert.equal(message, 'Node n1 was deleted; it holds the volumes of default/one');
});
