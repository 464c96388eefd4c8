// The snapshotter's writes to a content, against a whole API server.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import {
  customResourceDefinitions,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
} from '../../api/kinds.ts';
import {
  ANN_GROUP_SNAPSHOT_HANDLE,
  ANN_SNAPSHOT_BEING_CREATED,
  ANN_SNAPSHOT_PARAMETERS,
  FINALIZER_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import { parseDriverName } from '../../csi/names/driver-name.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { isConflict } from '../../runtime/kube/kube-error.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import type { StatusPatch } from './content-kind.ts';
import { ContentWrites } from './content-writes.ts';
import { snapshotKind } from './snapshot-kind.ts';

const driver = parseDriverName('scripted.csi.test');
const MADE = { snapshotHandle: 'snap', readyToUse: true, creationTime: 1, restoreSize: 2 };
const crd = new URL(
  '../../../deploy/crds/snapshot.storage.k8s.io_volumesnapshotcontents.yaml',
  import.meta.url,
);

async function writesWorld(t: TestContext) {
  const signal = AbortSignal.timeout(20_000);
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  await kube.create(customResourceDefinitions, parse(await readFile(crd, 'utf8')));
  const random = seededRandom('writes');
  const informers = createInformers({ kube, clock: realClock, random, log: memoryLog() });
  const contents = new ReadYourWrites(informers.of(volumeSnapshotContents));
  const kind = snapshotKind({
    driver,
    calls: undefined as never, // A write calls no driver.
    classOf: () => undefined,
    naming: { prefix: 'snap', uuidLength: -1 },
    extraCreateMetadata: false,
  });
  const newProcess = () => new ContentWrites({ kind, kube, random, contents });
  return {
    signal,
    writes: newProcess(),
    newProcess,
    async content(
      change: { metadata?: object; deletionPolicy?: string; status?: object } = {},
    ): Promise<VolumeSnapshotContent> {
      const made = await kube.create(volumeSnapshotContents, {
        metadata: { name: 'c', ...change.metadata },
        spec: {
          driver,
          deletionPolicy: change.deletionPolicy ?? 'Delete',
          source: { volumeHandle: 'vol' },
          volumeSnapshotRef: { name: 's', namespace: 'n', uid: 'su' },
        },
      } as never);
      if (change.status === undefined) return made;
      const how = { type: 'merge', subresource: 'status' } as const;
      return kube.patch(volumeSnapshotContents, { name: 'c' }, { status: change.status }, how);
    },
    stored: () => kube.get(volumeSnapshotContents, { name: 'c' }),
  };
}

test('[SIDE-2] a call is recorded with its parameters under the finalizer, once per process', async (t) => {
  const { writes, newProcess, content, stored, signal } = await writesWorld(t);
  const first = await writes.record(await content(), { tier: 'gold' }, signal);
  const { annotations = {}, finalizers } = (await stored()).metadata;
  assert.deepEqual(finalizers, [FINALIZER_SNAPSHOT_CONTENT]);
  assert.equal(annotations[ANN_SNAPSHOT_BEING_CREATED], 'yes');
  assert.deepEqual(JSON.parse(annotations[ANN_SNAPSHOT_PARAMETERS] ?? '').parameters, { tier: 'gold' });

  const again = await writes.record(first, { tier: 'gold' }, signal);
  assert.equal(again.metadata.resourceVersion, first.metadata.resourceVersion, 'its own record is enough');
  const other = await newProcess().record(again, { tier: 'gold' }, signal);
  assert.notEqual(
    other.metadata.annotations?.[ANN_SNAPSHOT_PARAMETERS],
    annotations[ANN_SNAPSHOT_PARAMETERS],
    'another process cannot know whether that record is about to be removed',
  );
  assert.deepEqual(other.metadata.finalizers, [FINALIZER_SNAPSHOT_CONTENT]);
});

test('[SIDE-2] a record is written again where the finalizer or the memory of it is gone', async (t) => {
  const { writes, content, stored, signal } = await writesWorld(t);
  const recorded = await writes.record(await content(), {}, signal);
  const bare = { ...recorded, metadata: { ...recorded.metadata, finalizers: [] } };
  const protectedAgain = await writes.record(bare, {}, signal);
  assert.notEqual(protectedAgain.metadata.resourceVersion, recorded.metadata.resourceVersion);
  writes.gone(recorded.metadata.uid);
  await writes.record(protectedAgain, {}, signal);
  assert.notEqual((await stored()).metadata.resourceVersion, protectedAgain.metadata.resourceVersion);
});

test('[SIDE-2] a content with a handle needs no mark that it is being created', async (t) => {
  const { writes, content, signal } = await writesWorld(t);
  const recorded = await writes.record(await content({ status: MADE }), {}, signal);
  const { annotations = {} } = recorded.metadata;
  assert.deepEqual(Object.keys(annotations), [ANN_SNAPSHOT_PARAMETERS]);
});

test('[SIDE-2] a record whose removal was not seen to succeed is written again, also where the handle is known', async (t) => {
  const { writes, content, stored, signal } = await writesWorld(t);
  const recorded = await writes.record(await content({ status: MADE }), {}, signal);
  await writes.forget(recorded, 'all', signal);
  assert.equal((await stored()).metadata.annotations?.[ANN_SNAPSHOT_PARAMETERS], undefined);
  // The cache still shows the record. Without one the snapshot could be deleted while the call is in flight.
  await writes.record(recorded, {}, signal);
  assert.notEqual((await stored()).metadata.annotations?.[ANN_SNAPSHOT_PARAMETERS], undefined);
});

test('[SIDE-2] a content that is being deleted gets no finalizer, which the server would reject', async (t) => {
  const { writes, content, signal } = await writesWorld(t);
  const made = await content({ metadata: { finalizers: ['theirs.io/keep'] } });
  const deleting = { ...made, metadata: { ...made.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  const { finalizers } = (await writes.record(deleting as VolumeSnapshotContent, {}, signal)).metadata;
  assert.deepEqual(finalizers, ['theirs.io/keep']);
});

test('[SIDE-2] the end of an attempt keeps the parameters; the end of all removes both', async (t) => {
  const { writes, content, stored, signal } = await writesWorld(t);
  const made = await content();
  assert.equal(await writes.forget(made, 'all', signal), made, 'nothing to forget');
  const recorded = await writes.record(made, {}, signal);
  const ended = await writes.forget(recorded, 'attempt', signal);
  assert.deepEqual(Object.keys(ended.metadata.annotations ?? {}), [ANN_SNAPSHOT_PARAMETERS]);
  await assert.rejects(writes.forget(recorded, 'all', signal), 'it removes only the record it has seen');
  await writes.forget(ended, 'all', signal);
  assert.deepEqual(Object.keys((await stored()).metadata.annotations ?? {}), []);
});

const NEWER = { readyToUse: true, restoreSize: 2 };
const stale: [string, StatusPatch, object | undefined][] = [
  ['an error', { readyToUse: true, error: { message: 'no' } }, undefined],
  ['that it is not ready', { readyToUse: false }, undefined],
  [
    'that it is cut and not ready',
    { snapshotHandle: 'snap', readyToUse: false, creationTime: 1 },
    { ...NEWER, snapshotHandle: 'snap', creationTime: 1 },
  ],
  [
    'that it is ready',
    { snapshotHandle: 'snap', readyToUse: true, error: null },
    { ...NEWER, snapshotHandle: 'snap' },
  ],
];
for (const [name, status, then] of stale)
  test(`[SIDE-2] a content whose status was decided on an older version, ${name}, stays ready`, async (t) => {
    const { writes, content, stored, signal } = await writesWorld(t);
    const seen = await content();
    await writes.status(seen, NEWER, signal);
    const late = writes.status(seen, status, signal);
    if (then === undefined) await assert.rejects(late, isConflict);
    else await late;
    assert.deepEqual((await stored()).status, then ?? NEWER);
    const current = await writes.status(await stored(), { readyToUse: false }, signal);
    assert.equal(current.status?.readyToUse, false, 'one that was decided on the newest is written');
  });

const kept = { finalizers: [FINALIZER_SNAPSHOT_CONTENT, 'theirs.io/keep'] };
const released: [string, Parameters<Awaited<ReturnType<typeof writesWorld>>['content']>[0], object][] = [
  ['shows no deleted snapshot', { metadata: kept, status: MADE }, {}],
  ['shows a retained snapshot', { metadata: kept, status: MADE, deletionPolicy: 'Retain' }, MADE],
  [
    'of a group shows it: the group deletes it',
    { metadata: { ...kept, annotations: { [ANN_GROUP_SNAPSHOT_HANDLE]: 'g' } }, status: MADE },
    MADE,
  ],
  ['without handle is as it was', { metadata: kept, status: { readyToUse: false } }, { readyToUse: false }],
  [
    'that nobody else keeps is as it was',
    { metadata: { finalizers: [FINALIZER_SNAPSHOT_CONTENT] }, status: MADE },
    MADE,
  ],
];
for (const [name, change, status] of released) {
  test(`[SIDE-2] a released content ${name}`, async (t) => {
    const { writes, content, stored, signal } = await writesWorld(t);
    await writes.release(await content(change), signal);
    const after = await stored();
    assert.deepEqual(after.status ?? {}, status);
    assert.equal(after.metadata.finalizers?.includes(FINALIZER_SNAPSHOT_CONTENT) ?? false, false);
  });
}
