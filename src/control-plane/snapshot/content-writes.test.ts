// The writes of the snapshot controller that tolerate others, on a real API server.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import {
  customResourceDefinitions,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import {
  FINALIZER_GROUP_SNAPSHOT_BOUND,
  FINALIZER_GROUP_SNAPSHOT_CONTENT,
  FINALIZER_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isConflict, KubeError } from '../../runtime/kube/kube-error.ts';
import { GroupWrites } from '../group-snapshot/group-writes.ts';
import type { StatusPatch } from './snapshot-status.ts';
import { SnapshotWrites } from './snapshot-writes.ts';

const { signal } = new AbortController();
const name = { name: 's', namespace: 'default' };

async function world(t: TestContext) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  for (const group of [
    'snapshot.storage.k8s.io_volumesnapshot',
    'groupsnapshot.storage.k8s.io_volumegroupsnapshot',
  ])
    for (const plural of ['s', 'contents']) {
      const file = new URL(`../../../deploy/crds/${group}${plural}.yaml`, import.meta.url);
      await kube.create(customResourceDefinitions, parse(await readFile(file, 'utf8')));
    }
  const cache = { wrote: <T>(object: T): T => object };
  const caches = { snapshots: cache, contents: cache, groups: cache, groupContents: cache } as never;
  const snapshot = await kube.create(volumeSnapshots, {
    metadata: name,
    spec: { source: { persistentVolumeClaimName: 'c' }, volumeSnapshotClassName: 'of-snapshot' },
  });
  const group = await kube.create(volumeGroupSnapshots, {
    metadata: name,
    spec: { source: { selector: {} }, volumeGroupSnapshotClassName: 'of-snapshot' },
  } as never);
  return {
    kube,
    snapshot,
    group,
    snapshots: new SnapshotWrites(kube, caches),
    groups: new GroupWrites(kube, caches),
    content: (spec: object = {}, metadata: object = {}) =>
      kube.create(volumeSnapshotContents, {
        metadata: { name: 'c', ...metadata },
        spec: {
          driver: 'd',
          deletionPolicy: 'Delete',
          source: { snapshotHandle: 'h' },
          volumeSnapshotRef: name,
          ...spec,
        },
      } as never) as Promise<VolumeSnapshotContent>,
    groupContent: (spec: object = {}, metadata: object = {}) =>
      kube.create(volumeGroupSnapshotContents, {
        metadata: { name: 'c', ...metadata },
        spec: {
          driver: 'd',
          deletionPolicy: 'Delete',
          source: { groupSnapshotHandles: { volumeGroupSnapshotHandle: 'h', volumeSnapshotHandles: ['s'] } },
          volumeGroupSnapshotRef: name,
          ...spec,
        },
      } as never) as Promise<VolumeGroupSnapshotContent>,
  };
}

const rows: {
  name: string;
  spec: object;
  metadata: object;
  then: { className: string; finalizers: string[] };
}[] = [
  {
    name: 'without a class or finalizer gets both',
    spec: {},
    metadata: {},
    then: { className: 'of-snapshot', finalizers: ['own'] },
  },
  {
    name: 'with a class keeps it',
    spec: { className: 'of-content' },
    metadata: {},
    then: { className: 'of-content', finalizers: ['own'] },
  },
  {
    name: 'with another finalizer keeps it',
    spec: {},
    metadata: { finalizers: ['test/a'] },
    then: { className: 'of-snapshot', finalizers: ['test/a', 'own'] },
  },
  {
    name: 'with the finalizer gets it once',
    spec: {},
    metadata: { finalizers: ['own'] },
    then: { className: 'of-snapshot', finalizers: ['own'] },
  },
];
for (const { name: title, spec, metadata, then } of rows) {
  const finalizers = (own: string) => ({
    ...metadata,
    ...('finalizers' in metadata && {
      finalizers: (metadata.finalizers as string[]).map((each) => (each === 'own' ? own : each)),
    }),
  });
  const wanted = (own: string) => then.finalizers.map((each) => (each === 'own' ? own : each));
  const className = (spec as { className?: string }).className;

  test(`a pre-provisioned content ${title}`, async (t) => {
    const { kube, snapshot, snapshots, content } = await world(t);
    const given = className === undefined ? {} : { volumeSnapshotClassName: className };
    await snapshots.bindContent(
      await content(given, finalizers(FINALIZER_SNAPSHOT_CONTENT)),
      snapshot,
      signal,
    );
    const bound = await kube.get(volumeSnapshotContents, { name: 'c' });
    assert.equal(bound.spec.volumeSnapshotRef.uid, snapshot.metadata.uid);
    assert.equal(bound.spec.volumeSnapshotClassName, then.className);
    assert.deepEqual(bound.metadata.finalizers, wanted(FINALIZER_SNAPSHOT_CONTENT));
  });

  test(`a pre-provisioned group content ${title}`, async (t) => {
    const { kube, group, groups, groupContent } = await world(t);
    const given = className === undefined ? {} : { volumeGroupSnapshotClassName: className };
    const made = await groupContent(given, finalizers(FINALIZER_GROUP_SNAPSHOT_CONTENT));
    await groups.bindContent(made, group, signal);
    const bound = await kube.get(volumeGroupSnapshotContents, { name: 'c' });
    assert.equal(bound.spec.volumeGroupSnapshotRef.uid, group.metadata.uid);
    assert.equal(bound.spec.volumeGroupSnapshotClassName, then.className);
    assert.deepEqual(bound.metadata.finalizers, wanted(FINALIZER_GROUP_SNAPSHOT_CONTENT));
  });
}

test('a content that another snapshot has bound meanwhile is not taken', async (t) => {
  const { kube, snapshot, snapshots, content, group, groups, groupContent } = await world(t);
  const made = await content();
  const taken = { spec: { volumeSnapshotRef: { ...name, uid: 'another' } } };
  await kube.patch(volumeSnapshotContents, { name: 'c' }, taken, { type: 'merge' });
  await assert.rejects(snapshots.bindContent(made, snapshot, signal), KubeError);
  assert.equal((await kube.get(volumeSnapshotContents, { name: 'c' })).spec.volumeSnapshotRef.uid, 'another');
  const groupMade = await groupContent();
  await kube.patch(
    volumeGroupSnapshotContents,
    { name: 'c' },
    { metadata: { labels: { a: 'b' } } },
    { type: 'merge' },
  );
  await assert.rejects(groups.bindContent(groupMade, group, signal), KubeError);
});

test('a content that exists already is found, and other errors are errors', async (t) => {
  const { snapshots, groups, content, groupContent } = await world(t);
  const draft = { metadata: { name: 'c' }, spec: (await content()).spec };
  assert.equal((await snapshots.createContent(draft, signal)).isNew, false);
  const next = await snapshots.createContent({ ...draft, metadata: { name: 'd' } }, signal);
  assert.deepEqual([next.isNew, next.content.metadata.name], [true, 'd']);
  await assert.rejects(
    snapshots.createContent({ ...draft, metadata: { name: 'NOT VALID' } }, signal),
    KubeError,
  );
  const groupMade = await groupContent();
  const groupDraft = { metadata: { name: 'c' }, spec: groupMade.spec };
  assert.equal((await groups.createContent(groupDraft, signal)).metadata.uid, groupMade.metadata.uid);
  await assert.rejects(
    groups.createContent({ ...groupDraft, metadata: { name: 'NOT VALID' } }, signal),
    KubeError,
  );
});

test('a member that is gone is deleted, and one that is kept is read back', async (t) => {
  const { kube, groups, snapshot } = await world(t);
  await kube.patch(volumeSnapshots, name, { metadata: { finalizers: ['test/a'] } }, { type: 'merge' });
  await groups.deleteMember(snapshot, signal);
  assert.ok((await kube.get(volumeSnapshots, name)).metadata.deletionTimestamp);
  await kube.patch(volumeSnapshots, name, { metadata: { finalizers: null } }, { type: 'merge' });
  await groups.deleteMember(snapshot, signal);
  await kube.create(volumeSnapshots, { metadata: name, spec: snapshot.spec });
  await assert.rejects(groups.deleteMember(snapshot, signal), KubeError, 'it is another one');
});

test('[GRP-1] a member that is created again, because the cache does not show it, stays ready', async (t) => {
  const { kube, group, groups, groupContent } = await world(t);
  const { uid } = group.metadata;
  const content = await groupContent({ volumeGroupSnapshotRef: { ...name, uid } });
  const info = { volumeHandle: 'v', snapshotHandle: 'handle', readyToUse: false };
  const create = () => groups.createMember(group, { content, member: { info, volume: undefined } }, signal);
  const contentName = { name: (await create()).status?.boundVolumeSnapshotContentName ?? '' };
  const statusOf = async () => (await kube.get(volumeSnapshotContents, contentName)).status;
  assert.deepEqual(await statusOf(), { snapshotHandle: 'handle', readyToUse: false });
  // As the snapshotter does once the driver says so.
  const ready = { status: { readyToUse: true } };
  await kube.patch(volumeSnapshotContents, contentName, ready, { type: 'merge', subresource: 'status' });
  await create();
  assert.deepEqual(await statusOf(), { snapshotHandle: 'handle', readyToUse: true });
});

const stale: [name: string, status: StatusPatch, isWritten: boolean][] = [
  ['that it is not ready', { readyToUse: false }, false],
  ['an error', { error: { message: 'no' } }, false],
  ['that it is ready', { readyToUse: true, error: null }, true],
];
for (const [title, status, isWritten] of stale)
  test(`a snapshot whose status was decided on an older version, ${title}, stays ready`, async (t) => {
    const { kube, snapshot, snapshots, group, groups } = await world(t);
    const how = { type: 'merge', subresource: 'status' } as const;
    const ready = { status: { readyToUse: true } };
    await kube.patch(volumeSnapshots, name, ready, how);
    await kube.patch(volumeGroupSnapshots, name, ready, how);
    for (const late of [snapshots.status(snapshot, status, signal), groups.status(group, status, signal)])
      if (isWritten) await late;
      else await assert.rejects(late, isConflict);
    const current = await kube.get(volumeSnapshots, name);
    const currentGroup = await kube.get(volumeGroupSnapshots, name);
    assert.deepEqual([current.status, currentGroup.status], [{ readyToUse: true }, { readyToUse: true }]);
    await snapshots.status(current, { readyToUse: false }, signal);
    await groups.status(currentGroup, { readyToUse: false }, signal);
    assert.equal((await kube.get(volumeSnapshots, name)).status?.readyToUse, false, 'decided on the newest');
    assert.equal((await kube.get(volumeGroupSnapshots, name)).status?.readyToUse, false);
  });

test('a snapshot that has become ready is known to be so once its finalizer is added, and once it is removed', async (t) => {
  const { kube, snapshot, group } = await world(t);
  const how = { type: 'merge', subresource: 'status' } as const;
  await kube.patch(volumeSnapshots, name, { status: { readyToUse: true } }, how);
  await kube.patch(volumeGroupSnapshots, name, { status: { readyToUse: true } }, how);
  // As over HTTP: the rest of a known object is not read.
  const brief: KubeClient = {
    ...kube,
    async patch<T extends KubeObject>(...call: Parameters<typeof kube.patch<T>>): Promise<T> {
      const answer = await kube.patch<T>(...call);
      const known = call[3].known as T | undefined;
      return known ? { ...known, metadata: answer.metadata } : answer;
    },
  };
  const written: VolumeSnapshot[] = [];
  const cache = { wrote: (object: VolumeSnapshot) => void written.push(object) };
  const caches = { snapshots: cache, groups: cache } as never;
  const snapshots = new SnapshotWrites(brief, caches);
  const groups = new GroupWrites(brief, caches);
  await snapshots.protect(snapshot, { finalizers: ['test/a'] }, signal);
  await groups.protect(group, {}, signal);
  // Known as they were before they became ready, but for their finalizers.
  const held = <T extends KubeObject>(object: T, finalizer: string): T => ({
    ...object,
    metadata: { ...object.metadata, finalizers: [finalizer] },
  });
  await snapshots.release(held(snapshot, 'test/a'), ['test/a'], signal);
  await groups.release(held(group, FINALIZER_GROUP_SNAPSHOT_BOUND), signal);
  assert.deepEqual(
    written.map(({ metadata, status }) => [metadata.finalizers?.length ?? 0, status]),
    [1, 1, 0, 0].map((finalizers) => [finalizers, { readyToUse: true }]),
  );
});
