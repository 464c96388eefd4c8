// Which changes wake the binder once a binding is complete, or not quite, and what it tells of pods that wait.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '../../api/kinds.ts';
import { ANN_BIND_COMPLETED } from '../../api/well-known.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import { changesOf } from '../../runtime/informer/testing/woken-loops.ts';
import { objectsLike, testWakes, type WakeRow } from '../testing/wake-rows.ts';
import { createBinder } from './binder.ts';
import { isComplete, volumeUnbound } from './binding.ts';
import { createClaimReconciler } from './claim-reconciler.ts';
import { VolumePool } from './volume-pool.ts';

const claim = objectsLike('c', {
  metadata: { namespace: 'ns', annotations: { [ANN_BIND_COMPLETED]: 'yes' } },
  spec: { volumeName: 'pv' },
  status: { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } },
});
const volume = objectsLike('pv', {
  spec: { accessModes: ['ReadWriteOnce'], claimRef: { namespace: 'ns', name: 'c', uid: 'uid-c' } },
  status: { phase: 'Bound' },
});
const spare = objectsLike('spare', { spec: { claimRef: { namespace: 'ns', name: 'c', uid: 'uid-c' } } });
const rival = objectsLike('d', { metadata: { namespace: 'ns' }, spec: { volumeName: 'pv' } });
const claims = changesOf(persistentVolumeClaims);
const volumes = changesOf(persistentVolumes);
const bound: WakeRow[3] = [[persistentVolumes, volume()]];
const withClaim: WakeRow[3] = [[persistentVolumeClaims, claim()]];

testWakes('the binder', createBinder, [
  ['a claim whose binding is complete', claims(undefined, claim()), [], bound],
  [
    'a claim whose binding is not',
    claims(undefined, claim({ status: { phase: 'Pending' } })),
    ['claims', 'volumes'],
    bound,
  ],
  [
    'a complete claim for which another volume is reserved',
    claims(undefined, claim()),
    ['volumes'],
    [...bound, [persistentVolumes, spare()]],
  ],
  ['a volume whose binding is complete', volumes(undefined, volume()), [], withClaim],
  [
    'a volume whose phase is not yet',
    volumes(undefined, volume({ status: { phase: 'Available' } })),
    ['claims', 'volumes'],
    withClaim,
  ],
  [
    'a bound volume that another claim names',
    volumes(undefined, volume()),
    ['claims'],
    [...withClaim, [persistentVolumeClaims, rival()]],
  ],
  [
    'the default class',
    changesOf(storageClasses)(
      undefined,
      objectsLike('fast')({
        metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      }),
    ),
    ['claims'],
    [[persistentVolumeClaims, objectsLike('e', { metadata: { namespace: 'ns' } })()]],
  ],
  [
    'a class that is not the default',
    changesOf(storageClasses)(undefined, objectsLike('fast')()),
    [],
    [[persistentVolumeClaims, objectsLike('e', { metadata: { namespace: 'ns' } })()]],
  ],
]);

const incomplete: [string, object, object][] = [
  ['the volume’s phase', claim(), volume({ status: { phase: 'Available' } })],
  ['the volume’s reference', claim(), volume({ spec: { claimRef: { namespace: 'ns', name: 'c' } } })],
  ['the claim’s volume', claim({ spec: { volumeName: 'x' } }), volume()],
  ['the claim’s mark', claim({ metadata: { annotations: {} } }), volume()],
  ['the claim’s phase', claim({ status: { phase: 'Pending' } }), volume()],
  ['the claim’s modes', claim({ status: { accessModes: [] } }), volume()],
  ['the claim’s capacity', claim({ status: { capacity: undefined } }), volume()],
  ['the claim’s attributes class', claim(), volume({ spec: { volumeAttributesClassName: 'gold' } })],
];
test('a binding is complete when both sides are', () => {
  const is = (ofClaim: object, ofVolume: object) =>
    isComplete(ofClaim as PersistentVolumeClaim, ofVolume as PersistentVolume);
  assert.equal(is(claim(), volume()), true);
  const modified = claim({ status: { currentVolumeAttributesClassName: 'silver' } });
  assert.equal(is(modified, volume({ spec: { volumeAttributesClassName: 'gold' } })), true);
  for (const [name, ofClaim, ofVolume] of incomplete) assert.equal(is(ofClaim, ofVolume), false, name);
});

test('a volume that is made available again loses what the binder wrote, not what the user wrote', () => {
  const unbound = (metadata: object, claimRef?: object) =>
    volumeUnbound({ metadata, spec: { claimRef } } as unknown as PersistentVolume);
  const by = { 'pv.kubernetes.io/bound-by-controller': 'yes', other: 'x' };
  const chosen = unbound({ annotations: by }, { name: 'c', uid: 'u' });
  assert.deepEqual([chosen.spec.claimRef, chosen.metadata.annotations], [undefined, { other: 'x' }]);
  const reserved = unbound({ annotations: { other: 'x' } }, { name: 'c', uid: 'u', resourceVersion: '1' });
  assert.deepEqual([reserved.spec.claimRef, reserved.metadata.annotations], [{ name: 'c' }, { other: 'x' }]);
  assert.equal(unbound({}).spec.claimRef, undefined);
});

const pod = (name: string, change: object = {}) => ({ metadata: { name }, spec: {}, ...change }) as Pod;
const waiting: [string, Pod[], string][] = [
  ['nobody', [], 'waiting for first consumer to be created before binding'],
  ['a pod', [pod('a')], 'waiting for pod a to be scheduled'],
  ['two pods', [pod('a'), pod('b')], 'waiting for pods a,b to be scheduled'],
  [
    'pods that are scheduled, have ended or are being deleted',
    [
      pod('a', { spec: { nodeName: 'n' } }),
      pod('b', { status: { phase: 'Failed' } }),
      pod('c', { metadata: { name: 'c', deletionTimestamp: 'x' } }),
    ],
    'waiting for first consumer to be created before binding',
  ],
];
for (const [name, pods, message] of waiting)
  test(`a claim with delayed binding that ${name} uses: ${message}`, async () => {
    const informers = manualInformers();
    const late = { metadata: { name: 'late' }, provisioner: 'p', volumeBindingMode: 'WaitForFirstConsumer' };
    informers.change(storageClasses, undefined, late);
    const told: string[] = [];
    const object = {
      metadata: { name: 'c' },
      spec: { storageClassName: 'late' },
      status: { phase: 'Pending' },
    };
    const reconcile = createClaimReconciler({
      objects: { claims: { get: () => object }, volumes: { get: () => undefined } } as never,
      pool: { match: () => undefined } as never,
      classes: informers.of(storageClasses),
      nodes: { get: () => undefined } as never,
      podsOf: () => pods,
      lookAtClaim: () => {},
      recorder: { event: (...event: string[]) => void told.push(event[3] ?? '') } as never,
    });
    await reconcile('ns/c', { signal: new AbortController().signal } as never);
    assert.deepEqual(told, [message]);
  });

for (const isWritten of [true, false])
  test(`a claim that came while the only volume was held is ${isWritten ? 'not ' : ''}looked at again when that ${isWritten ? 'is' : 'could not be'} reserved`, async () => {
    const informers = manualInformers();
    const volumeCache = informers.of(persistentVolumes);
    const pool = new VolumePool(volumeCache, new ReadYourWrites(volumeCache));
    informers.change(persistentVolumes, undefined, {
      metadata: { name: 'pv', resourceVersion: '1' },
      spec: { storageClassName: 'slow', capacity: { storage: '1Gi' } },
      status: { phase: 'Available' },
    });
    const written = Promise.withResolvers<never>();
    const woken: string[] = [];
    const asking = (key: string) => ({
      metadata: { name: key.slice('ns/'.length), namespace: 'ns', uid: key },
      spec: { storageClassName: 'slow' },
      status: { phase: 'Pending' },
    });
    const reconcile = createClaimReconciler({
      objects: {
        claims: { get: asking },
        volumes: volumeCache,
        writeVolume: () => written.promise,
        setVolumePhase: () => Promise.reject(new Error('the phase is not written')),
      } as never,
      pool,
      classes: informers.of(storageClasses),
      nodes: { get: () => undefined } as never,
      podsOf: () => [],
      lookAtClaim: (key) => void woken.push(key),
      recorder: { event() {} } as never,
    });
    const run = (key: string) => reconcile(key, { signal: new AbortController().signal } as never);
    const first = run('ns/a');
    await run('ns/b');
    if (isWritten) written.resolve({ metadata: { name: 'pv' } } as never);
    else written.reject(new Error('the volume is not written'));
    await assert.rejects(first, isWritten ? /the phase/ : /the volume/);
    assert.deepEqual(woken, isWritten ? [] : ['ns/b']);
  });
