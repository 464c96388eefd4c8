import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Pod } from '../../api/kinds.ts';
import { loopbackTransport } from '../../csi/client/loopback-transport.ts';
import { parseDriverName, parseVolumeHandle } from '../../csi/names/driver-name.ts';
import { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import type { MountableVolume } from '../../csi-plugin/mount/mountable-volume.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { createMetrics } from '../../runtime/metrics/metrics.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { DriverRegistry, type RegisteredDriver } from '../registration/driver-registry.ts';
import { inWorld } from '../testing/node-world.ts';
import { ActualState } from './actual-state.ts';
import { type DesiredMount, DesiredState } from './desired-state.ts';
import { createVolumeStats, STATS_PERIOD_MS } from './volume-stats.ts';

const NAME = parseDriverName('scripted.csi.test');
const MINUTE_MS = 60_000;

function start(t: TestContext, options: { capabilities?: string[]; statsPeriodMs?: number } = {}) {
  const clock = new VirtualClock();
  const log = memoryLog();
  const driver = new ScriptedDriver({ name: NAME });
  const transport = loopbackTransport(driver.services, { clock, log, interceptors: [driver.interceptor] });
  const registry = new DriverRegistry();
  const capabilities = new Set(options.capabilities ?? ['GET_VOLUME_STATS', 'VOLUME_CONDITION']);
  registry.add({ name: NAME, transport, capabilities, close: () => {} } as unknown as RegisteredDriver);
  const desired = new DesiredState();
  const actual = new ActualState();
  const metrics = createMetrics({ clock });
  const told: string[] = [];
  const stats = createVolumeStats({
    desired,
    actual,
    registry,
    recorder: {
      event: (object: Pod, type: string, reason: string, message: string) =>
        told.push(`${object.metadata.name} ${type} ${reason} ${message}`),
    } as never,
    clock,
    random: seededRandom(1),
    log,
    metrics,
    statsPeriodMs: options.statsPeriodMs ?? STATS_PERIOD_MS,
  });
  const stop = new AbortController();
  const stopStats = stats.start(stop.signal);
  t.after(() => {
    stop.abort();
    stopStats();
  });

  /** A pod with one mounted volume. */
  const mount = (pod: string, options: { handle?: string; claim?: string } = {}) => {
    const handle = parseVolumeHandle(options.handle ?? 'h1');
    const volume = { driver: NAME, handle, specName: `pv-${handle}` } as MountableVolume;
    const path = `/pods/${pod}/${handle}`;
    const object = { metadata: { uid: pod, name: pod, namespace: 'default' } } as Pod;
    const desiredMount: DesiredMount = {
      pod: object,
      volume,
      volumeNames: ['data'],
      readOnly: false,
      ...(options.claim && { claimKey: `default/${options.claim}` }),
    };
    desired.set({ pod: object, resolved: true, mounts: new Map([[volume.specName, desiredMount]]) });
    actual.setMount({ podUid: pod, volume, state: 'mounted', path, readOnly: false });
    driver.published.set(path, handle);
  };
  const asked = () => driver.callsOf('NodeGetVolumeStats').length;
  const shown = () =>
    metrics
      .text()
      .split('\n')
      .filter((line) => line.startsWith('kubelet_volume_stats_'))
      .map((line) => line.replace('kubelet_volume_stats_', ''));
  return { clock, log, driver, registry, desired, actual, stats, mount, asked, shown, told, metrics };
}

const of = (claim: string) => `{namespace="default",persistentvolumeclaim="${claim}"}`;

test('[NOD-8] a pod is found within a minute, then its volumes are asked for every one to two minutes', async (t) => {
  const { clock, mount, asked, shown, metrics } = start(t);
  mount('p1', { claim: 'c1' });
  await clock.advance(MINUTE_MS - 1);
  assert.equal(asked(), 0);
  await clock.advance(1);
  assert.equal(asked(), 1);
  assert.deepEqual(shown(), [
    `capacity_bytes${of('c1')} 1000`,
    `available_bytes${of('c1')} 600`,
    `used_bytes${of('c1')} 400`,
    `inodes${of('c1')} 100`,
    `inodes_free${of('c1')} 90`,
    `inodes_used${of('c1')} 10`,
    `health_status_abnormal${of('c1')} 0`,
  ]);
  await clock.advance(MINUTE_MS - 1);
  assert.equal(asked(), 1);
  await clock.advance(MINUTE_MS);
  assert.equal(asked(), 2);
  await clock.advance(200 * MINUTE_MS);
  assert.ok(asked() >= 102 && asked() <= 202, `${asked()} calls in 200 minutes`);
  assert.notEqual(asked(), 202, 'there is a jitter');
  assert.match(
    metrics.text(),
    /kubelet_volume_metric_collection_duration_seconds_count\{metric_source="scripted.csi.test"\}/,
  );
});

test('[NOD-8] pods that share a claim share its gauges, which go with the last of them', async (t) => {
  const { clock, mount, stats, desired, shown } = start(t);
  mount('p1', { claim: 'c1' });
  mount('p2', { claim: 'c1' });
  await clock.advance(MINUTE_MS);
  assert.equal(shown().filter((line) => line.startsWith('used_bytes')).length, 1);
  for (const uid of ['p1', 'p2']) {
    assert.ok(shown().includes(`used_bytes${of('c1')} 400`), 'not summed, and still there');
    desired.remove(uid);
    stats.forget(uid);
  }
  assert.deepEqual(shown(), []);
});

test('[NOD-8] a pod that goes while its driver is asked leaves no gauge', async (t) => {
  const { clock, mount, stats, desired, driver, shown, asked } = start(t);
  const answer = Promise.withResolvers<void>();
  driver.script('NodeGetVolumeStats', { until: answer.promise });
  mount('p1', { claim: 'c1' });
  await clock.advance(MINUTE_MS);
  desired.remove('p1');
  stats.forget('p1');
  answer.resolve();
  await clock.settle();
  assert.deepEqual(shown(), []);
  await clock.advance(10 * MINUTE_MS);
  assert.deepEqual(shown(), []);
  assert.equal(asked(), 1);
});

test('[NOD-8] an abnormal condition is told on the pod at each reading, also of an inline volume', async (t) => {
  const { clock, mount, driver, told, shown } = start(t);
  mount('p1', { claim: 'c1' });
  mount('inline', { handle: 'h2' });
  const answer = { usage: [], volumeCondition: { abnormal: true, message: 'the disk smokes' } };
  driver.script('NodeGetVolumeStats', { answer }, { answer });
  await clock.advance(MINUTE_MS);
  assert.deepEqual(told.toSorted(), [
    'inline Warning VolumeConditionAbnormal Volume data: the disk smokes',
    'p1 Warning VolumeConditionAbnormal Volume data: the disk smokes',
  ]);
  assert.ok(shown().includes(`health_status_abnormal${of('c1')} 1`));
  assert.ok(shown().includes(`capacity_bytes${of('c1')} 0`), 'no usage is zeros, as officially');
  await clock.advance(2 * MINUTE_MS);
  assert.ok(shown().includes(`health_status_abnormal${of('c1')} 0`));
  assert.equal(told.length, 2);
});

test('[NOD-8] an error, or an answer without usage, removes the gauges until the next answer', async (t) => {
  const { clock, mount, driver, shown, told, log } = start(t, { capabilities: ['GET_VOLUME_STATS'] });
  mount('p1', { claim: 'c1' });
  await clock.advance(MINUTE_MS);
  assert.ok(shown().length > 0);
  assert.ok(!shown().some((line) => line.startsWith('health_status')), 'no condition without the capability');
  const calls = () => driver.callsOf('NodeGetVolumeStats').length;
  driver.always('NodeGetVolumeStats', { fail: 'INTERNAL', message: 'no' });
  await clock.advance(2 * MINUTE_MS);
  assert.ok(calls() > 1);
  assert.deepEqual(shown(), []);
  driver.always('NodeGetVolumeStats', { answer: { usage: [] } });
  await clock.advance(2 * MINUTE_MS);
  assert.deepEqual(shown(), []);
  assert.match(log.text(), /the driver returned no usage/);
  driver.always('NodeGetVolumeStats', undefined);
  await clock.advance(2 * MINUTE_MS);
  assert.ok(shown().includes(`used_bytes${of('c1')} 400`));
  assert.deepEqual(told, []);
});

const SILENT: [string, Parameters<typeof start>[1]][] = [
  ['of a driver without GET_VOLUME_STATS', { capabilities: ['VOLUME_CONDITION'] }],
  ['with a negative period', { statsPeriodMs: -1 }],
];
for (const [what, options] of SILENT) {
  test(`[NOD-8] nothing is asked ${what}`, async (t) => {
    const { clock, mount, asked } = start(t, options);
    mount('p1', { claim: 'c1' });
    await clock.advance(10 * MINUTE_MS);
    assert.equal(asked(), 0);
  });
}

test('[NOD-8] nothing is asked about a volume that is not mounted, or whose driver is gone', async (t) => {
  const { clock, mount, actual, registry, asked, shown } = start(t);
  mount('p1', { claim: 'c1' });
  const [mounted] = actual.mountsOfPod('p1');
  assert.ok(mounted);
  mounted.state = 'uncertain';
  await clock.advance(3 * MINUTE_MS);
  assert.equal(asked(), 0);
  mounted.state = 'mounted';
  await clock.advance(2 * MINUTE_MS);
  assert.ok(asked() > 0);
  registry.closeAll();
  const before = asked();
  await clock.advance(4 * MINUTE_MS);
  assert.equal(asked(), before);
  assert.deepEqual(shown(), []);
});

test('[NOD-8] a node serves the statistics of a driver behind its socket and tells the pod of an ill volume', async (t) => {
  await inWorld(t, {}, async (world) => {
    const metrics = createMetrics();
    await world.startNode('n1', { volumeStatsAggPeriodMs: 20, metrics });
    const driver = world.scripted({ node: ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS', 'VOLUME_CONDITION'] });
    await world.driverObject(driver.name, { attachRequired: false });
    await world.register('n1', driver);
    await world.volume({ name: 'data', driver: driver.name });
    const pod = await world.pod('web', [{ name: 'vol', persistentVolumeClaim: { claimName: 'data' } }]);
    await world.untilRunning(pod);
    driver.volumes.set('handle-data', { illness: 'on fire' } as never);
    assert.equal(await world.untilEvent('VolumeConditionAbnormal', /on fire/), 'Volume vol: on fire');
    const [request] = driver.callsOf<{ volumeId: string; volumePath: string }>('NodeGetVolumeStats');
    assert.equal(request?.volumeId, 'handle-data');
    assert.match(request?.volumePath ?? '', /volumes\/kubernetes.io~csi\/pv-data\/mount$/);
    const asked = driver.callsOf('NodeGetVolumeStats').length;
    await driver.until(() => driver.callsOf('NodeGetVolumeStats').length > asked);
    assert.match(
      metrics.text(),
      /kubelet_volume_stats_used_bytes\{namespace="default",persistentvolumeclaim="data"\} 400/,
    );
    await world.deletePod(pod);
    await world.untilGone(pod);
    assert.doesNotMatch(metrics.text(), /kubelet_volume_stats_\w+\{/);
  });
});
