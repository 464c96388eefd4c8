import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume } from '../../../api/kinds.ts';
import { parseDriverName, parseVolumeHandle } from '../../../csi/names/driver-name.ts';
import { VirtualClock } from '../../../runtime/time/virtual-clock.ts';
import { type Attempt, Attempts } from './attempts.ts';

const DRIVER = parseDriverName('d.example');
const HANDLE = parseVolumeHandle('h');

/** Attempts beside a cache of PersistentVolumes that the test fills. */
function start() {
  const clock = new VirtualClock();
  const cached = new Map<string, PersistentVolume>();
  let handlers:
    | { added(volume: PersistentVolume): void; deleted(volume: PersistentVolume): void }
    | undefined;
  const informer = {
    get: (name: string) => cached.get(name),
    subscribe(given: typeof handlers) {
      handlers = given;
      return () => {};
    },
  };
  const context = {
    informers: { of: () => informer },
    byHandle: (handle: string) =>
      [...cached.values()].filter(({ spec }) => spec.csi?.volumeHandle === handle),
    driver: { name: DRIVER },
    clock,
  };
  const closed: string[] = [];
  const attempts = new Attempts(context as never, ({ uid }) => {
    assert.deepEqual([...attempts.openIntents()], []);
    closed.push(uid);
  });
  const volume = (name: string, change: { driver?: string; uid?: string } = {}) =>
    ({
      metadata: { name },
      spec: {
        csi: { driver: change.driver ?? DRIVER, volumeHandle: 'h' },
        ...(change.uid && { claimRef: { uid: change.uid } }),
      },
    }) as unknown as PersistentVolume;
  const show = (name: string, change: { driver?: string; uid?: string } = {}) => {
    cached.set(name, volume(name, change));
    handlers?.added(volume(name, change));
  };
  const remove = (name: string) => {
    cached.delete(name);
    handlers?.deleted(volume(name));
  };
  return { clock, attempts, closed, show, remove };
}

const recorded = (change: Partial<Extract<Attempt, { is: 'recorded' }>> = {}): Attempt => ({
  is: 'recorded',
  volumeName: 'pv',
  handle: HANDLE,
  onClaim: false,
  ...change,
});

test('[PROV-2] a volume that was just recorded belongs to its claim before the cache shows it', () => {
  const { attempts, show } = start();
  attempts.set('u', recorded());
  assert.equal(attempts.claimUidOf('pv', 'u'), 'u');
  assert.equal(attempts.claimUidOf('pv', 'other'), undefined);
  assert.equal(attempts.ownerOf(HANDLE, 'pv'), undefined, 'it is its own');
  assert.equal(attempts.ownerOf(HANDLE, 'another'), 'pv');
  show('pv', { uid: 'u' });
  assert.equal(attempts.of('u'), undefined, 'the cache shows it now');
  assert.equal(attempts.claimUidOf('pv', 'u'), 'u');
  assert.equal(attempts.ownerOf(HANDLE, 'another'), 'pv');
  assert.equal(attempts.ownerOf(HANDLE, 'pv'), undefined);
});

test('[PROV-2] a volume in the cache belongs to whom it names, or to nobody that is known', () => {
  const { attempts, show } = start();
  show('pv');
  assert.equal(attempts.claimUidOf('pv', 'u'), '');
  assert.equal(attempts.claimUidOf('absent', 'u'), undefined);
});

test('[PROV-2] what is on the claim is remembered until the claim is written, though the cache shows the volume', () => {
  const { attempts, show } = start();
  attempts.set('u', recorded({ onClaim: true }));
  show('pv');
  assert.equal(attempts.of('u')?.is, 'recorded');
  attempts.set('u', recorded({ onClaim: true }));
  assert.equal(attempts.of('u')?.is, 'recorded');
  attempts.set('u', recorded());
  assert.equal(attempts.of('u'), undefined);
});

test('[PROV-2] a volume of another driver is not taken for the one that was recorded', () => {
  const { attempts, show } = start();
  attempts.set('u', recorded());
  show('theirs', { driver: 'e.example' });
  assert.equal(attempts.of('u')?.is, 'recorded');
});

test('[PROV-2] a volume that the cache never shows was deleted before, and is forgotten', async () => {
  const { clock, attempts } = start();
  attempts.set('u', recorded());
  await clock.advance(60_000);
  assert.equal(attempts.claimUidOf('pv', 'u'), 'u');
  assert.equal(attempts.ownerOf(HANDLE, 'another'), 'pv');
  await clock.advance(1);
  assert.equal(attempts.claimUidOf('pv', 'u'), undefined);
  assert.equal(attempts.ownerOf(HANDLE, 'another'), undefined);
  assert.equal(attempts.of('u')?.is, 'recorded');
  attempts.set('v', recorded({ volumeName: 'next', handle: parseVolumeHandle('i') }));
  assert.equal(attempts.of('u'), undefined, 'with the next one');
  assert.equal(attempts.of('v')?.is, 'recorded');
});

test('[PROV-2] an attempt replaces the one before it, and a volume that is deleted is nobody’s', () => {
  const { attempts, show, remove } = start();
  attempts.set('u', recorded());
  attempts.set('u', { is: 'asking', asked: undefined });
  assert.equal(attempts.ownerOf(HANDLE, 'another'), undefined);
  assert.equal(attempts.claimUidOf('pv', 'u'), undefined);
  attempts.set('u', recorded());
  attempts.delete('u');
  assert.equal(attempts.ownerOf(HANDLE, 'another'), undefined);
  assert.equal(attempts.of('u'), undefined);
  attempts.set('u', recorded({ handle: undefined }));
  assert.equal(attempts.claimUidOf('pv', 'u'), undefined);
  attempts.set('w', recorded());
  remove('pv');
  assert.equal(attempts.of('w'), undefined, 'its deletion shows that it was there');
  show('pv');
  assert.equal(attempts.ownerOf(HANDLE, 'another'), 'pv');
});

test('[PROV-7] an intent is closed when its outcome is known or its claim is done, and not when it is to be forgotten', () => {
  const { attempts, closed } = start();
  const asking = { is: 'asking', asked: { intent: { uid: 'u' } } } as unknown as Attempt;
  attempts.set('u', asking);
  attempts.set('u', asking);
  assert.deepEqual(closed, []);
  attempts.set('u', { is: 'nothing-left', reschedule: false, hadIntent: true });
  assert.deepEqual(closed, ['u']);
  attempts.delete('u');
  assert.deepEqual(closed, ['u'], 'once');
  attempts.set('u', asking);
  attempts.forget(() => true);
  assert.deepEqual(closed, ['u']);
  attempts.set('u', asking);
  attempts.delete('u');
  assert.deepEqual(closed, ['u', 'u']);
});
