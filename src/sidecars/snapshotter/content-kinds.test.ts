// What the two kinds of content ask of the driver, through a scripted driver, and what is decided for a group's content.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeGroupSnapshotContent, VolumeSnapshotContent } from '../../api/kinds.ts';
import {
  ANN_GROUP_SNAPSHOT_BEING_CREATED,
  ANN_GROUP_SNAPSHOT_BEING_DELETED,
  ANN_GROUP_SNAPSHOT_HANDLE,
  ANN_GROUP_SNAPSHOT_PARAMETERS,
  ANN_GROUP_SNAPSHOT_SECRET_NAME,
  ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE,
  ANN_SNAPSHOT_SECRET_NAME,
  ANN_SNAPSHOT_SECRET_NAMESPACE,
  FINALIZER_GROUP_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import { loopbackTransport } from '../../csi/client/loopback-transport.ts';
import type { ControllerCapability } from '../../csi/messages/capabilities.ts';
import { parseDriverName } from '../../csi/names/driver-name.ts';
import { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { decideContent } from './decide-content.ts';
import { createGroupCalls } from './group-calls.ts';
import { groupKind } from './group-kind.ts';
import { createSnapshotCalls } from './snapshot-calls.ts';
import { snapshotKind } from './snapshot-kind.ts';

const driver = parseDriverName('scripted.csi.test');
const naming = { prefix: 'snap', uuidLength: -1 };
const parameters = {
  tier: 'gold',
  'csi.storage.k8s.io/group-snapshotter-get-secret-name': 'look',
  'csi.storage.k8s.io/group-snapshotter-get-secret-namespace': 'ns',
  'csi.storage.k8s.io/snapshotter-list-secret-name': 'list',
  'csi.storage.k8s.io/snapshotter-list-secret-namespace': 'ns',
};
const signal = AbortSignal.timeout(20_000);

function kinds({
  capabilities = ['LIST_SNAPSHOTS', 'CREATE_DELETE_SNAPSHOT'],
  isCapable = true,
  extraCreateMetadata = false,
}: {
  capabilities?: ControllerCapability[];
  isCapable?: boolean;
  extraCreateMetadata?: boolean;
} = {}) {
  const scripted = new ScriptedDriver({
    name: driver,
    controller: capabilities,
    group: ['CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT'],
  });
  const csi = loopbackTransport(scripted.services, {
    clock: realClock,
    log: memoryLog(),
    interceptors: [scripted.interceptor],
  });
  const classOf = (name: string) => (name === 'known' ? { driver, parameters } : undefined) as never;
  const shared = { driver, classOf, naming, extraCreateMetadata };
  return {
    scripted,
    group: groupKind({ ...shared, calls: createGroupCalls({ csi, timeoutMs: 5000 }), isCapable }),
    snapshot: snapshotKind({
      ...shared,
      calls: createSnapshotCalls({ csi, timeoutMs: 5000, capabilities: new Set(capabilities) }),
    }),
  };
}

interface Change {
  metadata?: object;
  spec?: object;
  status?: object;
}
const groupContent = ({ metadata, spec, status }: Change = {}): VolumeGroupSnapshotContent =>
  ({
    metadata: { name: 'c', uid: 'u', finalizers: [FINALIZER_GROUP_SNAPSHOT_CONTENT], ...metadata },
    spec: {
      driver,
      deletionPolicy: 'Delete',
      source: { volumeHandles: ['v1', 'v2'] },
      volumeGroupSnapshotClassName: 'known',
      volumeGroupSnapshotRef: { name: 'g', namespace: 'n', uid: 'gu' },
      ...spec,
    },
    ...(status && { status }),
  }) as unknown as VolumeGroupSnapshotContent;
const snapshotContent = ({ metadata, spec, status }: Change = {}): VolumeSnapshotContent =>
  ({
    metadata: { name: 'c', uid: 'u', ...metadata },
    spec: {
      driver,
      deletionPolicy: 'Delete',
      source: { volumeHandle: 'v1' },
      volumeSnapshotClassName: 'known',
      volumeSnapshotRef: { name: 's', namespace: 'n', uid: 'su' },
      ...spec,
    },
    ...(status && { status }),
  }) as unknown as VolumeSnapshotContent;

const deletionTimestamp = '2026-01-01T00:00:00Z';
const marked = { [ANN_GROUP_SNAPSHOT_BEING_DELETED]: 'yes' };
const handles = { volumeGroupSnapshotHandle: 'old', volumeSnapshotHandles: ['s1', 's2'] };
const given = { source: { groupSnapshotHandles: handles } };
const table: [string, Change, object][] = [
  ['a new one', {}, { do: 'create' }],
  [
    'one of two sources',
    { spec: { source: { volumeHandles: ['v'], groupSnapshotHandles: handles } } },
    { do: 'nothing' },
  ],
  ['one without source', { spec: { source: { volumeHandles: [] } } }, { do: 'nothing' }],
  ['a pre-provisioned one', { spec: given }, { do: 'look', handle: 'old' }],
  [
    'one without group',
    { spec: { volumeGroupSnapshotRef: { name: 'g', namespace: 'n' } } },
    { do: 'nothing' },
  ],
  ['one that is ready', { status: { volumeGroupSnapshotHandle: 'h', readyToUse: true } }, { do: 'nothing' }],
  [
    'one that is ready and recorded',
    {
      metadata: { annotations: { [ANN_GROUP_SNAPSHOT_PARAMETERS]: '{}' } },
      status: { volumeGroupSnapshotHandle: 'h', readyToUse: true },
    },
    { do: 'create' },
  ],
  ['deleted, not marked', { metadata: { deletionTimestamp } }, { do: 'create' }],
  ['deleted and marked', { metadata: { deletionTimestamp, annotations: marked } }, { do: 'release' }],
  [
    'deleted, marked and uncertain',
    {
      metadata: { deletionTimestamp, annotations: { ...marked, [ANN_GROUP_SNAPSHOT_BEING_CREATED]: 'yes' } },
    },
    { do: 'create' },
  ],
  [
    'deleted, marked and made',
    {
      metadata: { deletionTimestamp, annotations: marked },
      status: { volumeGroupSnapshotHandle: 'h' },
    },
    { do: 'delete', handle: 'h' },
  ],
  [
    'deleted without finalizer',
    {
      metadata: { deletionTimestamp, annotations: marked, finalizers: ['theirs'] },
    },
    { do: 'nothing' },
  ],
  ['of a class of no driver known', { spec: { volumeGroupSnapshotClassName: undefined } }, { do: 'create' }],
];
for (const [name, change, expected] of table) {
  test(`[GRP-1] the content of a group: ${name}`, () => {
    const decision = decideContent(kinds().group.factsOf(groupContent(change)));
    const { why: _why, ...rest } = decision as { why?: string; do: string };
    assert.deepEqual(rest, expected);
  });
}

test('[GRP-1] a group is created from its volumes, and looked at and deleted with its members', async () => {
  const { group, scripted } = kinds();
  for (const id of ['v1', 'v2']) scripted.volumes.set(id, { id, name: id } as never);
  const made = await group.create(
    groupContent(),
    { parameters: { tier: 'gold' }, secrets: undefined },
    signal,
  );
  assert.equal(made.members.length, 2);
  const [created] = scripted.callsOf<{ name: string; sourceVolumeIds: string[] }>(
    'CreateVolumeGroupSnapshot',
  );
  assert.equal(created?.name, 'snap-gu');
  assert.deepEqual(created?.sourceVolumeIds, ['v1', 'v2']);

  const status = { volumeGroupSnapshotHandle: made.handle, volumeSnapshotInfoList: made.members };
  assert.deepEqual(await group.look(groupContent({ status }), undefined, signal), made);
  await group.delete(groupContent({ status }), undefined, signal);
  type Named = { groupSnapshotId: string; snapshotIds: string[] };
  const [deleted] = scripted.callsOf<Named>('DeleteVolumeGroupSnapshot');
  assert.equal(deleted?.groupSnapshotId, made.handle);
  assert.deepEqual(
    deleted?.snapshotIds,
    made.members.map(({ snapshotHandle }) => snapshotHandle),
  );
});

test('[GRP-2] a pre-provisioned group is deleted by the handles that its user gave', async () => {
  const { group, scripted } = kinds();
  await group.delete(groupContent({ spec: given }), undefined, signal);
  type Named = { groupSnapshotId: string; snapshotIds: string[] };
  const [deleted] = scripted.callsOf<Named>('DeleteVolumeGroupSnapshot');
  assert.deepEqual([deleted?.groupSnapshotId, deleted?.snapshotIds], ['old', ['s1', 's2']]);
});

test('[GRP-1] a group snapshot without an ID is an error, and members keep what the driver says of them', async () => {
  const { group, scripted } = kinds();
  scripted.script('GetVolumeGroupSnapshot', {
    answer: { groupSnapshot: { groupSnapshotId: '', snapshots: [] } },
  });
  scripted.groups.set('h', { id: 'h', name: 'h', snapshotIds: [], parameters: {} });
  const content = groupContent({ status: { volumeGroupSnapshotHandle: 'h' } });
  await assert.rejects(
    group.look(content, undefined, signal),
    /GetVolumeGroupSnapshot returned no group snapshot ID/,
  );
  const at = { seconds: 1n, nanos: 5_000_000 };
  const member = { sourceVolumeId: 'v1', snapshotId: 's1', readyToUse: true };
  scripted.script('GetVolumeGroupSnapshot', {
    answer: {
      groupSnapshot: {
        groupSnapshotId: 'h',
        readyToUse: true,
        creationTime: at,
        snapshots: [{ ...member, creationTime: at, sizeBytes: 9n }, member],
      },
    },
  });
  const facts = { volumeHandle: 'v1', snapshotHandle: 's1', readyToUse: true };
  assert.deepEqual(await group.look(content, undefined, signal), {
    handle: 'h',
    ready: true,
    createdMs: 1005,
    members: [{ ...facts, creationTime: 1_005_000_000, restoreSize: 9 }, facts],
  });
});

test('the class gives the parameters, without its secrets; extra metadata is added on request', () => {
  const plain = kinds();
  assert.deepEqual(plain.group.classParameters(groupContent()), { tier: 'gold' });
  assert.deepEqual(plain.snapshot.classParameters(snapshotContent()), { tier: 'gold' });
  const extra = kinds({ extraCreateMetadata: true });
  assert.deepEqual(extra.group.classParameters(groupContent()), {
    tier: 'gold',
    'csi.storage.k8s.io/volumegroupsnapshot/name': 'g',
    'csi.storage.k8s.io/volumegroupsnapshot/namespace': 'n',
    'csi.storage.k8s.io/volumegroupsnapshotcontent/name': 'c',
  });
  assert.deepEqual(extra.snapshot.classParameters(snapshotContent()), {
    tier: 'gold',
    'csi.storage.k8s.io/volumesnapshot/name': 's',
    'csi.storage.k8s.io/volumesnapshot/namespace': 'n',
    'csi.storage.k8s.io/volumesnapshotcontent/name': 'c',
  });
});

test('a class that is missing, unnamed, or of a driver that takes no groups is a problem', () => {
  const { group, snapshot } = kinds();
  const unnamed = { spec: { volumeGroupSnapshotClassName: undefined, volumeSnapshotClassName: undefined } };
  const missing = { spec: { volumeGroupSnapshotClassName: 'gone', volumeSnapshotClassName: 'gone' } };
  assert.throws(() => group.classParameters(groupContent(unnamed)), /the content has no snapshot class/);
  assert.throws(
    () => group.classParameters(groupContent(missing)),
    /VolumeGroupSnapshotClass "gone" does not exist/,
  );
  assert.throws(
    () => snapshot.classParameters(snapshotContent(missing)),
    /VolumeSnapshotClass "gone" does not exist/,
  );
  assert.throws(
    () => kinds({ isCapable: false }).group.classParameters(groupContent()),
    /driver scripted.csi.test takes no group snapshots/,
  );
});

test('[GRP-2] secrets: from the annotations to create and delete, from the class to look', () => {
  const { group, snapshot } = kinds();
  const annotations = {
    [ANN_GROUP_SNAPSHOT_SECRET_NAME]: 'made',
    [ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE]: 'ns',
    [ANN_SNAPSHOT_SECRET_NAME]: 'made',
    [ANN_SNAPSHOT_SECRET_NAMESPACE]: 'ns',
  };
  const made = { name: 'made', namespace: 'ns' };
  assert.deepEqual(group.secret(groupContent({ metadata: { annotations } })), made);
  assert.deepEqual(snapshot.secret(snapshotContent({ metadata: { annotations } })), made);
  assert.equal(group.secret(groupContent()), undefined);
  const half = { metadata: { annotations: { [ANN_SNAPSHOT_SECRET_NAMESPACE]: 'ns' } } };
  assert.deepEqual(snapshot.secret(snapshotContent(half)), { name: '', namespace: 'ns' });
  assert.deepEqual(group.secretToLook(groupContent()), { name: 'look', namespace: 'ns' });
  assert.deepEqual(snapshot.secretToLook(snapshotContent()), { name: 'list', namespace: 'ns' });
  const member = { metadata: { annotations: { ...annotations, [ANN_GROUP_SNAPSHOT_HANDLE]: 'g' } } };
  assert.deepEqual(snapshot.secretToLook(snapshotContent(member)), made);
  const unnamed = { spec: { volumeSnapshotClassName: undefined } };
  assert.equal(snapshot.secretToLook(snapshotContent(unnamed)), undefined);
  const missing = { spec: { volumeSnapshotClassName: 'gone' } };
  assert.throws(() => snapshot.secretToLook(snapshotContent(missing)), /"gone" does not exist/);
});

const looks: [string, ControllerCapability[], string[]][] = [
  ['LIST_SNAPSHOTS', ['LIST_SNAPSHOTS'], ['ListSnapshots']],
  ['GET_SNAPSHOT', ['GET_SNAPSHOT'], ['GetSnapshot']],
  ['neither', [], []],
];
for (const [name, capabilities, calls] of looks) {
  test(`[SIDE-2] a snapshot is looked at with ${name}`, async () => {
    const { snapshot, scripted } = kinds({ capabilities });
    const found = {
      snapshotId: 'h',
      readyToUse: true,
      sizeBytes: 7n,
      creationTime: { seconds: 0n, nanos: 3 },
    };
    scripted.script('ListSnapshots', {
      answer: { entries: [{ snapshot: { snapshotId: 'x' } }, { snapshot: found }] },
    });
    const stored = { id: 'h', name: 'h', volumeId: 'v1', sizeBytes: 7n, parameters: {}, ready: true };
    scripted.snapshots.set('h', stored);
    scripted.script('GetSnapshot', { answer: { snapshot: found } });
    const facts = await snapshot.look(
      snapshotContent({ status: { snapshotHandle: 'h' } }),
      undefined,
      signal,
    );
    assert.deepEqual(
      scripted.calls.map(({ method }) => method),
      calls,
    );
    assert.deepEqual(
      facts,
      calls.length === 0
        ? { handle: 'h', ready: true, createdNs: undefined, sizeBytes: 0n }
        : { handle: 'h', ready: true, createdNs: 3n, sizeBytes: 7n },
    );
  });
}

test('[SIDE-2] an unknown snapshot, and one without an ID, are errors', async () => {
  const { snapshot, scripted } = kinds();
  const content = snapshotContent({ spec: { source: { snapshotHandle: 'h' } } });
  await assert.rejects(snapshot.look(content, undefined, signal), /the driver does not know snapshot h/);
  scripted.volumes.set('v1', { id: 'v1', name: 'v1' } as never);
  scripted.script('CreateSnapshot', { answer: { snapshot: { snapshotId: '' } } });
  const request = { parameters: {}, secrets: undefined };
  await assert.rejects(
    snapshot.create(snapshotContent(), request, signal),
    /CreateSnapshot returned no snapshot ID/,
  );
});
