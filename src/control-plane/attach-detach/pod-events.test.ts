import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CsiError } from '../../csi/csi-error.ts';
import { PodEvents } from './pod-events.ts';
import { slotKey } from './slot.ts';

const SLOT = slotKey('n', 'vol' as never);

/** Two pods use the volume here, of which the cache shows one; another uses it on m. */
function world(attached: boolean | undefined) {
  const told: string[] = [];
  const pod = (key: string) => ({ metadata: { name: key.split('/')[1], namespace: 'ns' } });
  const volume = { kind: 'persistent-volume', pvName: 'pv', driver: 'd', volumeHandle: 'h' };
  const attachment = {
    metadata: { name: 'va' },
    spec: { attacher: 'd', nodeName: 'n', source: { persistentVolumeName: 'pv' } },
    status: { attached },
  };
  const events = new PodEvents({
    recorder: {
      event: ({ metadata }: { metadata: { name: string } }, type: string, reason: string, message: string) =>
        void told.push(`${metadata.name}: ${type} ${reason}: ${message}`),
      flush: async () => {},
    },
    desired: {
      podsOf: (slot: string) => (slot === SLOT ? ['ns/p', 'ns/unseen'] : ['ns/other']),
      volumesOf: (slot: string) => (slot === SLOT ? [{ volume, shownAs: 'pv' }] : []),
    },
    pods: { get: (key: string) => (key === 'ns/unseen' ? undefined : pod(key)) },
    attachments: {
      get: () => (attached === undefined ? undefined : attachment),
      byIndex: () => [],
      list: () => [],
    },
  } as never);
  return { events, told };
}

test('success is told once, and only where it was asked for', () => {
  const { events, told } = world(true);
  events.announce(SLOT);
  assert.deepEqual(told, []);
  events.asked('va');
  events.announce(SLOT);
  events.announce(SLOT);
  assert.deepEqual(told, ['p: Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pv"']);
  events.asked('va');
  events.gone('va');
  events.announce(SLOT);
  assert.equal(told.length, 1);
});

for (const attached of [false, undefined]) {
  test(`success is not told while the attachment is ${attached === undefined ? 'missing' : 'pending'}`, () => {
    const { events, told } = world(attached);
    events.asked('va');
    events.announce(SLOT);
    assert.deepEqual(told, []);
  });
}

test('a failure is told with its reason', () => {
  const { events, told } = world(false);
  events.attachFailed(
    SLOT,
    { shownAs: 'pv' } as never,
    new CsiError({ code: 'INTERNAL', message: 'no disk' }),
  );
  assert.equal(told.length, 1);
  assert.match(
    told[0] ?? '',
    /^p: Warning FailedAttachVolume: AttachVolume.Attach failed for volume "pv" : .*no disk/,
  );
});

test('a pod learns who holds its volume elsewhere', () => {
  const { events, told } = world(false);
  events.heldElsewhere(SLOT, ['m']);
  assert.match(told[0] ?? '', /^p: Warning FailedAttachVolume: Multi-Attach error for volume "pv".*other/);
  events.heldElsewhere(slotKey('x', 'vol' as never), []);
  assert.match(told[1] ?? '', /^other: Warning FailedAttachVolume: Multi-Attach error for volume "vol"/);
});
