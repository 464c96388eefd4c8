import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/kinds.ts';
import { parseDriverName, parseVolumeHandle } from '../../csi/names/driver-name.ts';
import { type MountableVolume, volumeKeyOf } from '../../csi-plugin/mount/mountable-volume.ts';
import { ActualState } from './actual-state.ts';
import { type DesiredMount, type DesiredPod, DesiredState } from './desired-state.ts';
import { failureEvent, type MountStep, waitEvent } from './operation-events.ts';
import { PodWaits } from './pod-waits.ts';

const volume = (handle: string): MountableVolume => ({
  driver: parseDriverName('d.test'),
  handle: parseVolumeHandle(handle),
  specName: `pv-${handle}`,
  lifecycle: 'Persistent',
  block: false,
  attributes: {},
  fsType: '',
  accessModes: [],
  mountOptions: [],
  readOnly: false,
  secrets: {},
});
const key = (handle: string) => volumeKeyOf(volume(handle));
const desiredPod = (uid: string, ...handles: string[]): DesiredPod => {
  const pod = { metadata: { uid } } as unknown as Pod;
  const mounts = handles.map((handle): [string, DesiredMount] => [
    `pv-${handle}`,
    { pod, volume: volume(handle), volumeNames: [handle], readOnly: false },
  ]);
  return { pod, resolved: true, mounts: new Map(mounts) };
};

test('the desired state names the volumes that changed, and forgets volumes with their last pod', () => {
  const desired = new DesiredState();
  assert.deepEqual(desired.set(desiredPod('one', 'a', 'b')), [key('a'), key('b')]);
  assert.deepEqual(desired.set(desiredPod('two', 'a')), [key('a')]);
  assert.deepEqual(desired.set(desiredPod('one', 'b', 'c')).sort(), [key('a'), key('b'), key('c')]);
  assert.deepEqual([...desired.mountsOf(key('a')).keys()], ['two/pv-a']);
  assert.deepEqual(desired.remove('two'), [key('a')]);
  assert.deepEqual(desired.remove('two'), []);
  assert.deepEqual([...desired.volumeKeys()].sort(), [key('b'), key('c')]);
  assert.equal(desired.mountsOf(key('a')).size, 0);
  assert.equal(desired.pod('two'), undefined);
});

test('the actual state keeps a volume as long as it is staged or published', () => {
  const actual = new ActualState();
  const a = volume('a');
  const mount = (podUid: string, publishedAtMs?: number) =>
    actual.setMount({
      podUid,
      volume: a,
      state: 'mounted',
      path: '/p',
      readOnly: false,
      ...(publishedAtMs !== undefined && { publishedAtMs }),
    });
  actual.setDevice(a, 'mounted');
  mount('one', 5);
  mount('one');
  mount('two');
  assert.equal(actual.mount(key('a'), 'one', 'pv-a')?.publishedAtMs, 5, 'kept when it is not told anew');
  assert.equal(actual.mount(key('a'), 'two', 'pv-a')?.publishedAtMs, 0);
  assert.deepEqual(
    actual.mountsOfPod('one').map(({ podUid }) => podUid),
    ['one'],
  );
  const entry = actual.get(key('a'));
  assert.ok(entry);
  Object.assign(entry, { expanded: { to: '2Gi', asOf: '1' }, size: '2Gi' });
  actual.setDevice(a, 'uncertain');
  assert.equal(entry.size, '2Gi');
  actual.setDevice(a, 'unmounted');
  assert.deepEqual([entry.expanded, entry.size], [undefined, undefined]);
  actual.removeMount(a, 'one');
  assert.deepEqual(actual.keys(), [key('a')], 'still published');
  actual.removeMount(a, 'two');
  assert.deepEqual(actual.keys(), []);
  actual.setDevice(a, 'mounted');
  actual.removeMount(a, 'one');
  assert.deepEqual(actual.keys(), [key('a')], 'still staged');
});

test('the actual state knows the size of a volume only if nothing of it was mounted before', () => {
  const actual = new ActualState();
  const a = volume('a');
  const size = () => actual.get(key('a'))?.size;
  actual.setDevice(a, 'uncertain', '1Gi');
  actual.setDevice(a, 'uncertain', '2Gi');
  actual.setDevice(a, 'mounted');
  assert.equal(size(), '1Gi');
  actual.setDevice(a, 'unmounted');
  actual.setUnstaged(a, '2Gi');
  assert.equal(size(), '2Gi');
  actual.setDevice(a, 'unmounted');
  actual.setMount({ podUid: 'one', volume: a, state: 'uncertain', path: '/p', readOnly: false });
  actual.setUnstaged(a, '2Gi');
  assert.equal(size(), undefined, 'it may have been mounted when it was smaller');
});

test('the actual state knows a volume as it was staged last', () => {
  const actual = new ActualState();
  const a = volume('a');
  const renamed = { ...a, specName: 'pv-renamed' };
  actual.setMount({ podUid: 'one', volume: a, state: 'mounted', path: '/p', readOnly: false });
  actual.setDevice(renamed, 'uncertain');
  actual.setDevice(a, 'mounted');
  assert.equal(actual.get(key('a'))?.volume.specName, 'pv-renamed', 'until it is unstaged');
  actual.setDevice(renamed, 'unmounted');
  actual.setDevice(a, 'uncertain');
  assert.equal(actual.get(key('a'))?.volume.specName, 'pv-a');
});

test('the reason that a pod waits is reported when it changes, and only then', () => {
  const told: string[] = [];
  const waits = new PodWaits((uid) => told.push(uid));
  waits.set('u', ['a', 'b'], 'why');
  waits.set('u', ['a', 'b'], 'why');
  assert.deepEqual(told, ['u']);
  waits.set('u', ['b'], 'other');
  assert.deepEqual(
    [...waits.of('u')],
    [
      ['a', 'why'],
      ['b', 'other'],
    ],
  );
  waits.clear('u', ['x']);
  waits.clear('nobody', ['a']);
  assert.equal(told.length, 2);
  waits.clear('u', ['a', 'b']);
  assert.equal(told.length, 3);
  assert.equal(waits.of('u').size, 0);
  waits.set('u', ['a'], 'why');
  waits.forget('u');
  assert.equal(waits.of('u').size, 0);
});

test('failures are reported on the pod at once, delays only after a while', () => {
  const pod = { metadata: { uid: 'u' } } as unknown as Pod;
  const mount: DesiredMount = { pod, volume: volume('a'), volumeNames: ['a'], readOnly: false };
  const setUp: MountStep = { kind: 'set-up', id: 'i', mount, again: false };
  const unstage: MountStep = { kind: 'unmount-device', id: 'i' };
  const failed = { reason: 'FailedMount', message: 'MountVolume.SetUp failed for volume "pv-a" : why' };
  const attach = { reason: 'FailedAttachVolume', message: 'why' };
  const wrong = {
    reason: 'FailedMount',
    message: 'MountVolume.NodeAffinity check failed for volume "pv-a" : no matching NodeSelectorTerms',
  };
  assert.deepEqual(failureEvent(setUp, 'why'), failed);
  assert.equal(failureEvent(unstage, 'why'), undefined);
  type Waiting = Parameters<typeof waitEvent>[1];
  for (const [result, early, late] of [
    [{ kind: 'no-driver', why: 'why' }, undefined, failed],
    [{ kind: 'not-attached', why: 'why' }, undefined, attach],
    [{ kind: 'attach-failed', why: 'why', isNodeFull: false }, attach, attach],
    [{ kind: 'wrong-node', why: 'why' }, wrong, wrong],
  ] as [Waiting, object | undefined, object][]) {
    assert.deepEqual(waitEvent(setUp, result, false), early, result.kind);
    assert.deepEqual(waitEvent(setUp, result, true), late, result.kind);
    assert.equal(waitEvent(unstage, result, true), undefined, result.kind);
  }
});
