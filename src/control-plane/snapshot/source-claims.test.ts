import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type VolumeSnapshot,
  volumeSnapshots,
} from '../../api/kinds.ts';
import { FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE } from '../../api/well-known.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { SourceClaims } from './source-claims.ts';

const never = new AbortController().signal;
const claim = (finalizers: string[], resourceVersion = '1'): PersistentVolumeClaim =>
  ({ metadata: { name: 'c', namespace: 'ns', uid: 'u', resourceVersion, finalizers }, spec: {} }) as never;
const held = claim([FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE]);
const snapshot = (source: object, status?: object): VolumeSnapshot =>
  ({ metadata: { name: 's', namespace: 'ns' }, spec: { source }, status }) as never;
const ofClaim = { persistentVolumeClaimName: 'c' };

function world(known: PersistentVolumeClaim | undefined, taken?: VolumeSnapshot) {
  const informers = manualInformers();
  const requests: string[] = [];
  const answers: PromiseWithResolvers<PersistentVolumeClaim>[] = [];
  const ask = (what: string) => {
    requests.push(what);
    const answer = Promise.withResolvers<PersistentVolumeClaim>();
    answers.push(answer);
    return answer.promise;
  };
  const kube = { get: () => ask('read'), patch: () => ask('patch') } as unknown as KubeClient;
  const source = new SourceClaims(kube, {
    claims: informers.of(persistentVolumeClaims),
    snapshots: informers.of(volumeSnapshots),
  });
  if (known) informers.change(persistentVolumeClaims, undefined, known);
  if (taken) informers.change(volumeSnapshots, undefined, taken);
  return { source, requests, answers };
}

const kept: [string, PersistentVolumeClaim | undefined, VolumeSnapshot | undefined, boolean][] = [
  ['a claim without snapshots', held, undefined, true],
  ['a claim whose snapshot is ready', held, snapshot(ofClaim, { readyToUse: true }), true],
  ['a claim whose snapshot is not ready', held, snapshot(ofClaim, { readyToUse: false }), false],
  ['a claim whose snapshot has no status', held, snapshot(ofClaim), false],
  ['a claim beside a snapshot of no claim', held, snapshot({ volumeSnapshotContentName: 'x' }), true],
  ['a claim without the finalizer', claim(['a/b']), undefined, false],
  ['a claim that is gone', undefined, undefined, false],
];
for (const [name, known, taken, isReleased] of kept)
  test(`the finalizer of ${name} is ${isReleased ? 'removed' : 'left'}`, async () => {
    const { source, requests, answers } = world(known, taken);
    const released = source.release('ns/c', never);
    answers[0]?.resolve(claim([], '2'));
    await released;
    assert.deepEqual(requests, isReleased ? ['patch'] : []);
    const left = isReleased ? [] : known?.metadata.finalizers;
    assert.deepEqual((await source.read('ns/c', never))?.metadata.finalizers, left, 'as it was written');
  });

test('a claim that others need keeps its finalizer', async () => {
  const { source, requests } = world(held);
  source.keepFor(({ metadata }) => metadata.name === 'c');
  await source.release('ns/c', never);
  assert.deepEqual(requests, []);
});

test('a claim is read after a removal in flight, and from the server when its outcome is unknown', async () => {
  const { source, requests, answers } = world(held);
  const failing = source.release('ns/c', never);
  const read = source.read('ns/c', never);
  answers[0]?.reject(new Error('timed out'));
  await assert.rejects(failing, /timed out/);
  while (answers.length < 2) await Promise.resolve();
  assert.deepEqual(requests, ['patch', 'read']);
  answers[1]?.reject(new KubeError({ reason: 'NotFound', code: 404, message: 'gone' }));
  assert.equal(await read, undefined);
  const again = source.release('ns/c', never);
  answers[2]?.resolve(claim([], '2'));
  await again;
  assert.deepEqual((await source.read('ns/c', never))?.metadata.finalizers, [], 'certain again');
  assert.deepEqual(requests, ['patch', 'read', 'patch']);
});

test('[SIDE-2] a claim is held from a write of this process until its removal is sent', async () => {
  const { source, answers } = world(held);
  assert.equal(source.isHeld(held), false, 'a removal that an earlier process sent may be on its way');
  const renewing = source.protect(claim([FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE, 'a/b']), never);
  answers[0]?.resolve(held);
  await renewing;
  assert.equal(source.isHeld(held), true);
  assert.equal(source.isHeld(claim([])), false);
  source.forgetHeld();
  assert.equal(source.isHeld(held), false);
  const again = source.protect(claim(['a/b']), never);
  answers[1]?.resolve(held);
  await again;
  assert.equal(source.isHeld(held), true);
  const releasing = source.release('ns/c', never);
  assert.equal(source.isHeld(held), false);
  answers[2]?.reject(new Error('timed out'));
  await assert.rejects(releasing, /timed out/);
  assert.equal(source.isHeld(held), false);
});

test('a claim that is gone when its finalizer is removed is no failure', async () => {
  const { source, answers } = world(held);
  const released = source.release('ns/c', never);
  answers[0]?.reject(new KubeError({ reason: 'NotFound', code: 404, message: 'gone' }));
  await released;
  assert.equal((await source.read('ns/c', never))?.metadata.name, 'c', 'the cache will tell');
});

const listed = claim([], '9');
const versions: [name: string, known: PersistentVolumeClaim | undefined, then: PersistentVolumeClaim][] = [
  ['is not cached is as it was listed', undefined, listed],
  ['is cached as it was earlier is as it was listed', held, listed],
  ['was written since it was listed is as it was written', claim(['a/b'], '10'), claim(['a/b'], '10')],
];
for (const [name, known, then] of versions)
  test(`a claim that ${name}`, async () => {
    const { source, requests } = world(known);
    assert.deepEqual(await source.latest(listed, never), then);
    assert.deepEqual(requests, []);
  });

test('a claim that the server has no more after a removal with an unknown outcome is gone, although it was listed', async () => {
  const { source, answers } = world(held);
  const failing = source.release('ns/c', never);
  answers[0]?.reject(new Error('timed out'));
  await assert.rejects(failing, /timed out/);
  const latest = source.latest(listed, never);
  while (answers.length < 2) await Promise.resolve();
  answers[1]?.reject(new KubeError({ reason: 'NotFound', code: 404, message: 'gone' }));
  assert.equal(await latest, undefined);
});
