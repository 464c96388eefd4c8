import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CSIDriver } from '../../api/kinds.ts';
import { loopbackTransport } from '../../csi/client/loopback-transport.ts';
import { parseDriverName, parseNodeId } from '../../csi/names/driver-name.ts';
import { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { createAllocatableUpdater } from './allocatable-updater.ts';
import { DriverRegistry, type RegisteredDriver } from './driver-registry.ts';

const NAME = parseDriverName('scripted.csi.test');

async function start(t: TestContext) {
  const clock = new VirtualClock();
  const log = memoryLog();
  const driver = new ScriptedDriver({ name: NAME, nodeId: 'id', maxVolumesPerNode: 5 });
  const transport = loopbackTransport(driver.services, { clock, log, interceptors: [driver.interceptor] });
  const registry = new DriverRegistry();
  const register = (nodeId = 'id') =>
    registry.add({
      name: NAME,
      transport,
      facts: { nodeId: parseNodeId(nodeId) },
      socket: 's',
      close: () => {},
    } as unknown as RegisteredDriver);
  let object: CSIDriver | undefined;
  let changed: ((driver: CSIDriver) => void) | undefined;
  const csiDrivers = {
    get: () => object,
    subscribe(handlers: { added(driver: CSIDriver): void }) {
      changed = handlers.added;
      return () => {};
    },
  } as unknown as Informer<CSIDriver>;
  const written: number[] = [];
  const updater = createAllocatableUpdater({
    registry,
    csiDrivers,
    writer: {
      setMaxVolumes: async (_name: string, count: number) => void written.push(count),
    } as never,
    clock,
    random: seededRandom(1),
    log,
  });
  const stop = new AbortController();
  const running = updater.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
  });
  const setPeriod = async (seconds?: number) => {
    const spec = seconds === undefined ? {} : { nodeAllocatableUpdatePeriodSeconds: seconds };
    object = { metadata: { name: NAME }, spec } as unknown as CSIDriver;
    changed?.(object);
    await clock.settle();
  };
  const asked = () => driver.callsOf('NodeGetInfo').length;
  return { clock, log, driver, registry, register, written, updater, setPeriod, asked, signal: stop.signal };
}

test('[NOD-4] a driver is asked for its limit once in each period, the first time a period after its registration', async (t) => {
  const { clock, register, written, setPeriod, asked } = await start(t);
  await setPeriod(10);
  await clock.advance(30_000);
  assert.equal(asked(), 0, 'not registered');
  register();
  await clock.advance(9_999);
  assert.equal(asked(), 0);
  await clock.advance(1);
  assert.equal(asked(), 1);
  await clock.advance(9_999);
  assert.equal(asked(), 1);
  await clock.advance(1);
  assert.equal(asked(), 2);
  assert.deepEqual(written, [5, 5]);
});

test('[NOD-4] a driver is not asked where its object names no period, and no more once it does not', async (t) => {
  const { clock, register, setPeriod, asked } = await start(t);
  register();
  await setPeriod();
  await clock.advance(60_000);
  assert.equal(asked(), 0);
  await setPeriod(10);
  await clock.advance(10_000);
  assert.equal(asked(), 1);
  await setPeriod();
  await clock.advance(60_000);
  assert.equal(asked(), 1);
});

test('[NOD-4] a registration, which has asked the driver, starts the period anew', async (t) => {
  const { clock, register, setPeriod, asked } = await start(t);
  register();
  await setPeriod(10);
  await clock.advance(9_000);
  register();
  await clock.advance(9_000);
  assert.equal(asked(), 0);
  await clock.advance(1_000);
  assert.equal(asked(), 1);
});

test('[NOD-4] the limit of a driver that is another node now, or no longer registered, is not written', async (t) => {
  const { registry, register, written, updater, signal, driver, clock } = await start(t);
  await updater.ask(NAME, signal);
  assert.equal(driver.calls.length, 0);
  register('other');
  await updater.ask(NAME, signal);
  assert.deepEqual(written, []);
  register();
  const release = Promise.withResolvers<void>();
  driver.script('NodeGetInfo', { until: release.promise });
  const asking = updater.ask(NAME, signal);
  await clock.settle();
  registry.remove(NAME, 's');
  release.resolve();
  await asking;
  assert.deepEqual(written, []);
});

test('[NOD-4] a driver that does not answer is asked again after the next period', async (t) => {
  const { clock, log, driver, register, written, setPeriod } = await start(t);
  register();
  await setPeriod(10);
  driver.script('NodeGetInfo', { fail: 'UNAVAILABLE' });
  await clock.advance(10_000);
  assert.deepEqual(written, []);
  assert.match(log.text(), /could not update the volume limit/);
  await clock.advance(10_000);
  assert.deepEqual(written, [5]);
});
