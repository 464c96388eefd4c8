// A VolumeGroupSnapshotContent in all of its versions, through the API server and our own definition.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import {
  customResourceDefinitions,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshotContents,
} from '../../api/kinds.ts';
import type { KubeObject, Resource } from '../../api/object.ts';
import { testServer } from '../testing/test-server.ts';
import { convertVersion } from './convert-version.ts';

const ANN_INFO_LIST = 'groupsnapshot.storage.kubernetes.io/volume-snapshot-info-list';
const infos = [
  { volumeHandle: 'v1', snapshotHandle: 's1', creationTime: 17, readyToUse: true, restoreSize: 1024 },
  { volumeHandle: 'v2', snapshotHandle: 's2', readyToUse: false },
];
const pairs = infos.map(({ volumeHandle, snapshotHandle }) => ({ volumeHandle, snapshotHandle }));

type OldContent = KubeObject & { status?: { readyToUse?: boolean; volumeSnapshotHandlePairList?: object[] } };
const oldContents = { ...volumeGroupSnapshotContents, version: 'v1beta1' } as object as Resource<OldContent>;
const betaContents: Resource<VolumeGroupSnapshotContent> = {
  ...volumeGroupSnapshotContents,
  version: 'v1beta2',
};
const status = { type: 'merge', subresource: 'status' } as const;

async function contentWorld(t: TestContext) {
  const server = await testServer(t);
  const admin = server.client(server.adminUser);
  const file = new URL(
    '../../../deploy/crds/groupsnapshot.storage.k8s.io_volumegroupsnapshotcontents.yaml',
    import.meta.url,
  );
  await admin.create(customResourceDefinitions, parse(await readFile(file, 'utf8')));
  const spec = {
    driver: 'd.test',
    deletionPolicy: 'Delete',
    source: { volumeHandles: ['v1', 'v2'] },
    volumeGroupSnapshotRef: { name: 'g', namespace: 'default' },
  };
  return { admin, spec };
}

test('[GRP-1] what is written as v1 is read as v1beta1 in pairs of handles, and nothing of it is lost', async (t) => {
  const { admin, spec } = await contentWorld(t);
  await admin.create(volumeGroupSnapshotContents, { metadata: { name: 'c' }, spec } as never);
  const written = { status: { readyToUse: true, volumeSnapshotInfoList: infos } };
  await admin.patch(volumeGroupSnapshotContents, { name: 'c' }, written, status);
  const old = await admin.get(oldContents, { name: 'c' });
  assert.equal(old.apiVersion, 'groupsnapshot.storage.k8s.io/v1beta1');
  assert.deepEqual(old.status, { readyToUse: true, volumeSnapshotHandlePairList: pairs });
  assert.deepEqual(JSON.parse(old.metadata.annotations?.[ANN_INFO_LIST] ?? ''), infos);
  for (const resource of [volumeGroupSnapshotContents, betaContents]) {
    const { metadata, status: found } = await admin.get(resource, { name: 'c' });
    assert.deepEqual(found, written.status);
    assert.equal(metadata.annotations, undefined);
  }
  // An old client changes what it knows.
  const labels = { metadata: { labels: { by: 'old-client' } } };
  await admin.patch(oldContents, { name: 'c' }, labels, { type: 'merge' });
  const after = await admin.get(volumeGroupSnapshotContents, { name: 'c' });
  assert.deepEqual([after.status, after.metadata.labels], [written.status, labels.metadata.labels]);
  const { items } = await admin.list(oldContents);
  assert.deepEqual(items[0]?.status?.volumeSnapshotHandlePairList, pairs);
});

test('[GRP-1] what is written as v1beta1 is read as v1 in a list of snapshots', async (t) => {
  const { admin, spec } = await contentWorld(t);
  await admin.create(oldContents, { metadata: { name: 'c' }, spec } as never);
  const written = { status: { volumeSnapshotHandlePairList: pairs } };
  const answered = await admin.patch(oldContents, { name: 'c' }, written, status);
  assert.deepEqual(answered.status?.volumeSnapshotHandlePairList, pairs);
  const { status: found } = await admin.get(volumeGroupSnapshotContents, { name: 'c' });
  assert.deepEqual(found, { volumeSnapshotInfoList: pairs });
});

test('[GRP-1] an annotation that is no list is refused', async (t) => {
  const { admin, spec } = await contentWorld(t);
  const metadata = { name: 'c', annotations: { [ANN_INFO_LIST]: '{' } };
  await assert.rejects(
    admin.create(oldContents, { metadata, spec } as never),
    /volume-snapshot-info-list must be a list in JSON/,
  );
});

const API = 'groupsnapshot.storage.k8s.io';
const cases: { name: string; given: object; to: string; then: object }[] = [
  {
    name: 'no status, no annotation',
    given: { apiVersion: `${API}/v1beta1`, metadata: { name: 'c' } },
    to: 'v1beta2',
    then: { metadata: { name: 'c' } },
  },
  {
    name: 'the annotation wins over the pairs',
    given: {
      apiVersion: `${API}/v1beta1`,
      metadata: { annotations: { [ANN_INFO_LIST]: JSON.stringify(infos), other: 'kept' } },
      status: { error: { message: 'm' }, volumeSnapshotHandlePairList: [] },
    },
    to: 'v1',
    then: {
      metadata: { annotations: { other: 'kept' } },
      status: { error: { message: 'm' }, volumeSnapshotInfoList: infos },
    },
  },
  {
    name: 'v1 and v1beta2 differ in nothing',
    given: { apiVersion: `${API}/v1beta2`, metadata: {}, status: { volumeSnapshotInfoList: infos } },
    to: 'v1',
    then: { metadata: {}, status: { volumeSnapshotInfoList: infos } },
  },
];
for (const { name, given, to, then } of cases) {
  test(`[GRP-1] conversion: ${name}`, () => {
    const kind = { kind: 'VolumeGroupSnapshotContent' };
    const apiVersion = `${API}/${to}`;
    assert.deepEqual(convertVersion({ ...kind, ...given } as never, apiVersion), {
      ...kind,
      ...then,
      apiVersion,
    });
  });
}

test('a dry run answers in the version that was asked for, as the write would', async (t) => {
  const { admin, spec } = await contentWorld(t);
  const draft = (name: string) => ({ metadata: { name }, spec }) as never;
  const dry = { dryRun: true };
  await admin.create(betaContents, draft('c'));
  for (const resource of [volumeGroupSnapshotContents, betaContents, oldContents]) {
    const answers = [
      await admin.create(resource as typeof betaContents, draft('new'), dry),
      await admin.patch(
        resource,
        { name: 'c' },
        { metadata: { labels: { a: 'b' } } },
        { type: 'merge', ...dry },
      ),
      await admin.patch(resource, { name: 'c' }, {}, { type: 'merge', ...dry }),
    ];
    assert.deepEqual(
      answers.map(({ apiVersion }) => apiVersion),
      answers.map(() => `${resource.group}/${resource.version}`),
    );
  }
});
