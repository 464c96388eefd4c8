// How often the reconciler looks at a volume whose driver wants to publish again and again.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CSIDriver, Pod } from '../../api/kinds.ts';
import { parseDriverName, parseVolumeHandle } from '../../csi/names/driver-name.ts';
import { type MountableVolume, volumeKeyOf } from '../../csi-plugin/mount/mountable-volume.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { ActualState, type MountState } from './actual-state.ts';
import { DesiredState } from './desired-state.ts';
import type { MountStep } from './operation-events.ts';
import type { Performed } from './operations.ts';
import { PodWaits } from './pod-waits.ts';
import { createReconciler } from './reconciler.ts';

const volume: MountableVolume = {
  driver: parseDriverName('d.test'),
  handle: parseVolumeHandle('h'),
  specName: 'pv',
  lifecycle: 'Persistent',
  block: false,
  attributes: {},
  fsType: '',
  accessModes: ['ReadWriteOnce'],
  mountOptions: [],
  readOnly: false,
  secrets: {},
};
const KEY = volumeKeyOf(volume);
const podOf = (uid: string) => ({ metadata: { name: uid, uid } }) as Pod;

/** Counts the looks at the volume and the steps that the plugin is asked to perform, for mounts in these states. */
function start(
  t: TestContext,
  mounts: Record<string, { state: MountState; wanted: boolean }>,
  isUnstaged = false,
) {
  const clock = new VirtualClock();
  const desired = new DesiredState();
  const actual = new ActualState();
  desired.isPopulated = true;
  if (isUnstaged) actual.setUnstaged(volume);
  else actual.setDevice(volume, 'mounted');
  for (const [podUid, { state, wanted }] of Object.entries(mounts)) {
    actual.setMount({ podUid, volume, state, path: '/p', readOnly: false, publishedAtMs: 0 });
    const mount = { pod: podOf(podUid), volume, volumeNames: ['data'], readOnly: false };
    if (wanted) desired.set({ pod: mount.pod, resolved: true, mounts: new Map([['pv', mount]]) });
  }
  const world = {
    looks: 0,
    performed: 0,
    perform: (_step: MountStep): Promise<Performed> => Promise.reject(new Error('the driver fails')),
  };
  const mountsOf = desired.mountsOf.bind(desired);
  desired.mountsOf = (key) => {
    world.looks += 1;
    return mountsOf(key);
  };
  const reconciler = createReconciler({
    clock,
    random: seededRandom(1),
    log: silentLog,
    desired,
    actual,
    waits: new PodWaits(() => {}),
    perform(step) {
      world.performed += 1;
      return world.perform(step);
    },
    driverObject: () => ({ metadata: { name: 'd.test' }, spec: { requiresRepublish: true } }) as CSIDriver,
    needsStaging: () => true,
    growsTo: () => undefined,
    recorder: { event: () => {} } as never,
    podByUid: podOf,
    podChanged: () => {},
    useChanged: () => {},
  });
  const stop = new AbortController();
  const running = reconciler.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await clock.settle();
    await running;
  });
  reconciler.add(KEY);
  return Object.assign(world, { clock, actual });
}

const cases: { name: string; mounts: Parameters<typeof start>[1]; isUnstaged?: boolean }[] = [
  { name: 'a republish that fails', mounts: { a: { state: 'mounted', wanted: true } } },
  {
    name: 'the staging before a republish, which fails,',
    mounts: { a: { state: 'mounted', wanted: true } },
    isUnstaged: true,
  },
  { name: 'a tear-down that fails', mounts: { a: { state: 'mounted', wanted: false } } },
  {
    name: 'a mount that is set up again after a restart',
    mounts: { a: { state: 'uncertain', wanted: true } },
  },
  {
    name: 'a republish and a tear-down that fail',
    mounts: { a: { state: 'mounted', wanted: true }, b: { state: 'uncertain', wanted: false } },
  },
];
for (const { name, mounts, isUnstaged } of cases) {
  test(`${name} is looked at when it is tried again, not all the time`, async (t) => {
    const world = start(t, mounts, isUnstaged);
    await world.clock.advance(20 * 60_000);
    assert.ok(world.performed > 10, `${world.performed} attempts`);
    assert.ok(world.looks < 10 * world.performed, `${world.looks} looks for ${world.performed} attempts`);
  });
}

test('a mount is published again every minute, whatever its neighbour waits for', async (t) => {
  const world = start(t, {
    a: { state: 'mounted', wanted: true },
    b: { state: 'uncertain', wanted: false },
  });
  let published = 0;
  world.perform = async (step) => {
    if (step.kind === 'tear-down') throw new Error('the driver fails');
    published += 1;
    world.actual.setMount({
      podUid: 'a',
      volume,
      state: 'mounted',
      path: '/p',
      readOnly: false,
      publishedAtMs: world.clock.monotonicMs(),
    });
    return { kind: 'done' };
  };
  await world.clock.advance(10 * 60_000 + 1000);
  assert.equal(published, 10);
});
