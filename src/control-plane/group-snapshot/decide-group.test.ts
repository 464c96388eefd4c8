// What is done next for a group snapshot, which content it gets, and its members, as tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memberNames } from '../../api/group-snapshots.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
} from '../../api/kinds.ts';
import {
  ANN_DEFAULT_GROUP_SNAPSHOT_CLASS,
  ANN_GROUP_SNAPSHOT_BEING_DELETED,
  ANN_GROUP_SNAPSHOT_HANDLE,
  ANN_GROUP_SNAPSHOT_SECRET_NAME,
  ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE,
  ANN_SNAPSHOT_SECRET_NAME,
  ANN_SNAPSHOT_SECRET_NAMESPACE,
  FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE,
  FINALIZER_GROUP_SNAPSHOT_BOUND,
  FINALIZER_GROUP_SNAPSHOT_CONTENT,
  FINALIZER_SNAPSHOT_CONTENT,
  FINALIZER_SNAPSHOT_IN_GROUP,
} from '../../api/well-known.ts';
import { hasFinalizer } from '../../runtime/kube/finalizers.ts';
import { decideGroup, type GroupFacts } from './decide-group.ts';
import { type GroupPlanFacts, planGroupContent } from './plan-group-content.ts';
import { memberContent, memberContentStatus, memberSnapshot } from './plan-member.ts';

interface Change {
  metadata?: object;
  spec?: object;
  status?: object;
}
const loose = <T>(object: object): T => object as T;

const group = ({ metadata, spec, status }: Change = {}): VolumeGroupSnapshot =>
  loose({
    metadata: {
      name: 'g',
      namespace: 'n',
      uid: 'gu',
      finalizers: [FINALIZER_GROUP_SNAPSHOT_BOUND],
      ...metadata,
    },
    spec: { source: { selector: {} }, volumeGroupSnapshotClassName: 'known', ...spec },
    ...(status && { status }),
  });
const ref = { name: 'g', namespace: 'n', uid: 'gu' };
const content = ({ metadata, spec, status }: Change = {}): VolumeGroupSnapshotContent =>
  loose({
    metadata: { name: 'c', uid: 'cu', ...metadata },
    spec: {
      driver: 'd',
      deletionPolicy: 'Delete',
      source: { volumeHandles: ['v1', 'v2'] },
      volumeGroupSnapshotRef: ref,
      ...spec,
    },
    ...(status && { status }),
  });
const info = (volumeHandle: string) => ({
  volumeHandle,
  snapshotHandle: `s-${volumeHandle}`,
  readyToUse: true,
});
const member = (volumeHandle: string, { metadata, status }: Change = {}): VolumeSnapshot =>
  loose({
    metadata: { name: memberNames('gu', volumeHandle).snapshot, namespace: 'n', ...metadata },
    status: { boundVolumeSnapshotContentName: 'x', readyToUse: true, ...status },
  });
const claim = (name: string, finalizers: string[] = [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE]) =>
  loose<PersistentVolumeClaim>({ metadata: { name, namespace: 'n', uid: `uid-${name}`, finalizers } });
const planned =
  (claims: PersistentVolumeClaim[], className = 'known') =>
  () =>
    loose<ReturnType<GroupFacts['plan']>>({ groupClass: { metadata: { name: className } }, claims });

const deletionTimestamp = '2026-01-01T00:00:00Z';
const given = { source: { volumeGroupSnapshotContentName: 'c' } };
const preProvisioned = { source: { groupSnapshotHandles: { volumeGroupSnapshotHandle: 'h' } } };
const cut = {
  volumeGroupSnapshotHandle: 'h',
  creationTime: '2026-01-01T00:00:00Z',
  readyToUse: true,
  volumeSnapshotInfoList: [info('v1'), info('v2')],
};
const ready = { boundVolumeGroupSnapshotContentName: 'c', readyToUse: true, creationTime: cut.creationTime };
const deleting = { metadata: { deletionTimestamp } };
const marked = { annotations: { [ANN_GROUP_SNAPSHOT_BEING_DELETED]: 'yes' } };
const both = [member('v1'), member('v2')];

const steps: [string, Partial<GroupFacts>, object][] = [
  [
    'two sources',
    { group: group({ spec: { source: { selector: {}, ...given.source } } }) },
    { do: 'fail', reason: 'GroupSnapshotValidationError' },
  ],
  [
    'no source',
    { group: group({ spec: { source: {} } }) },
    { do: 'fail', reason: 'GroupSnapshotValidationError' },
  ],
  [
    'its content does not exist',
    { group: group({ spec: given }) },
    { do: 'fail', reason: 'GroupSnapshotContentMissing' },
  ],
  [
    'cut, its content is lost',
    { group: group({ status: { creationTime: 'x' } }) },
    { do: 'fail', reason: 'GroupSnapshotContentMissing' },
  ],
  [
    'ready, its content is lost',
    { group: group({ status: { readyToUse: true } }) },
    { do: 'fail', reason: 'GroupSnapshotContentMissing' },
  ],
  [
    'no plan',
    { plan: () => ({ reason: 'R', message: 'm' }) },
    { do: 'fail', reason: 'R', message: 'm', unready: true, isUnplanned: true },
  ],
  ['new', { group: group({ metadata: { finalizers: [] } }) }, { do: 'protect' }],
  ['a class was chosen', { plan: planned([], 'other') }, { do: 'protect', className: 'other' }],
  [
    'a claim is not protected',
    { plan: planned([claim('a', []), claim('b')]) },
    { do: 'protect-claims', claims: [claim('a', [])] },
  ],
  ['all is protected', {}, { do: 'create-content' }],
  [
    'dynamic, of a pre-provisioned content',
    { content: content({ spec: preProvisioned }) },
    { do: 'fail', reason: 'GroupSnapshotContentMismatch' },
  ],
  [
    'pre-provisioned, of a dynamic content',
    { group: group({ spec: given }), content: content() },
    { do: 'fail', reason: 'GroupSnapshotContentMismatch' },
  ],
  [
    'the content is of another',
    { content: content({ spec: { volumeGroupSnapshotRef: { ...ref, uid: 'old' } } }) },
    { do: 'fail', reason: 'GroupSnapshotContentMisbound' },
  ],
  [
    'ready, the content is of another',
    {
      group: group({ status: ready }),
      content: content({ spec: { volumeGroupSnapshotRef: { ...ref, uid: 'old' } } }),
    },
    { do: 'fail', reason: 'GroupSnapshotMisbound' },
  ],
  [
    'the content is meant for another name',
    {
      group: group({ spec: given }),
      content: content({
        spec: { ...preProvisioned, volumeGroupSnapshotRef: { name: 'x', namespace: 'n' } },
      }),
    },
    { do: 'fail', reason: 'GroupSnapshotContentMisbound' },
  ],
  [
    'the content is meant for another namespace',
    {
      group: group({ spec: given }),
      content: content({
        spec: { ...preProvisioned, volumeGroupSnapshotRef: { name: 'g', namespace: 'x' } },
      }),
    },
    { do: 'fail', reason: 'GroupSnapshotContentMisbound' },
  ],
  [
    'dynamic, the content without UID',
    { content: content({ spec: { volumeGroupSnapshotRef: { name: 'g', namespace: 'n' } } }) },
    { do: 'fail', reason: 'GroupSnapshotContentMisbound' },
  ],
  [
    'pre-provisioned and not bound',
    {
      group: group({ spec: given }),
      content: content({
        spec: { ...preProvisioned, volumeGroupSnapshotRef: { name: 'g', namespace: 'n' } },
      }),
    },
    { do: 'bind-content' },
  ],
  [
    'unprotected, with content',
    { group: group({ metadata: { finalizers: ['theirs'] } }), content: content() },
    { do: 'protect' },
  ],
  [
    'ready and bound',
    { group: group({ status: ready }), content: content({ status: cut }) },
    { do: 'nothing' },
  ],
  [
    'not cut yet',
    { content: content() },
    {
      do: 'write-status',
      patch: { boundVolumeGroupSnapshotContentName: 'c', readyToUse: false },
      isCut: false,
      isReady: false,
    },
  ],
  [
    'cut, without members',
    { content: content({ status: cut }) },
    { do: 'create-members', infos: [info('v1'), info('v2')] },
  ],
  [
    'cut, one member has no content',
    {
      content: content({ status: cut }),
      members: [member('v1'), member('v2', { status: { boundVolumeSnapshotContentName: undefined } })],
    },
    { do: 'create-members', infos: [info('v2')] },
  ],
  [
    'members named before the group has a handle',
    { content: content({ status: { volumeSnapshotInfoList: [info('v1')] } }) },
    { do: 'write-status' },
  ],
  [
    'a member without handle is not one',
    {
      content: content({
        status: {
          ...cut,
          readyToUse: false,
          volumeSnapshotInfoList: [{ volumeHandle: 'v1' }, { snapshotHandle: 's' }],
        },
      }),
    },
    { do: 'write-status' },
  ],
  [
    'ready, a volume has no snapshot',
    { content: content({ status: { ...cut, volumeSnapshotInfoList: [info('v1')] } }), members: both },
    { do: 'fail', reason: 'GroupSnapshotIncomplete' },
  ],
  [
    'not ready, a volume has no snapshot yet',
    {
      content: content({ status: { ...cut, readyToUse: false, volumeSnapshotInfoList: [info('v1')] } }),
      members: both,
    },
    { do: 'write-status' },
  ],
  [
    'all is ready',
    { content: content({ status: cut }), members: both },
    {
      do: 'write-status',
      patch: { boundVolumeGroupSnapshotContentName: 'c', creationTime: cut.creationTime, readyToUse: true },
      isCut: true,
      isReady: true,
    },
  ],
  [
    'a member is not ready',
    {
      content: content({ status: cut }),
      members: [member('v1'), member('v2', { status: { readyToUse: false } })],
    },
    {
      do: 'write-status',
      patch: { boundVolumeGroupSnapshotContentName: 'c', creationTime: cut.creationTime, readyToUse: false },
      isCut: true,
      isReady: false,
    },
  ],
  [
    'waits for its content',
    {
      group: group({ status: { boundVolumeGroupSnapshotContentName: 'c', readyToUse: false } }),
      content: content(),
    },
    { do: 'nothing' },
  ],
  [
    'became ready',
    {
      group: group({ status: { ...ready, readyToUse: false } }),
      content: content({ status: cut }),
      members: both,
    },
    { do: 'write-status', patch: { readyToUse: true }, isCut: false, isReady: true },
  ],
  [
    'deleted, kept by others',
    { group: group({ metadata: { deletionTimestamp, finalizers: ['theirs'] } }) },
    { do: 'nothing' },
  ],
  [
    'deleted, with members',
    { group: group(deleting), members: [member('v1', deleting), member('v2')] },
    { do: 'delete-members', members: [member('v2')] },
  ],
  [
    'deleted, its members go',
    { group: group(deleting), members: [member('v1', deleting)] },
    { do: 'nothing' },
  ],
  ['deleted, without content', { group: group(deleting) }, { do: 'release' }],
  [
    'deleted, the content of another',
    {
      group: group(deleting),
      content: content({ spec: { volumeGroupSnapshotRef: { ...ref, uid: 'old' } } }),
    },
    { do: 'release' },
  ],
  [
    'deleted, its content is not marked',
    { group: group(deleting), content: content() },
    { do: 'mark-content' },
  ],
  [
    'deleted, its content is retained',
    { group: group(deleting), content: content({ metadata: marked, spec: { deletionPolicy: 'Retain' } }) },
    { do: 'release' },
  ],
  [
    'deleted, its content is marked',
    { group: group(deleting), content: content({ metadata: marked }) },
    { do: 'delete-content' },
  ],
  [
    'deleted, its content goes',
    { group: group(deleting), content: content({ metadata: { ...marked, deletionTimestamp } }) },
    { do: 'nothing' },
  ],
  [
    'deleted, its content cannot go',
    {
      group: group(deleting),
      content: content({
        metadata: { ...marked, deletionTimestamp },
        status: { error: { message: 'busy' } },
      }),
    },
    { do: 'write-status', patch: { error: { message: 'busy' } }, isCut: false, isReady: false },
  ],
  [
    'deleted, it is said why not',
    {
      group: group({ ...deleting, status: { error: { message: 'busy' } } }),
      content: content({
        metadata: { ...marked, deletionTimestamp },
        status: { error: { message: 'busy' } },
      }),
    },
    { do: 'nothing' },
  ],
];
for (const [name, facts, expected] of steps) {
  test(`[GRP-1] a group snapshot: ${name}`, () => {
    const base: GroupFacts = {
      group: group(),
      content: undefined,
      members: [],
      plan: planned([claim('a')]),
      isHeld: (each) => hasFinalizer(each, FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE),
    };
    const step = decideGroup({ ...base, ...facts });
    assert.partialDeepStrictEqual(step, expected);
    if (step.do === 'fail') assert.equal(step.unready, true);
  });
}

const volumeOf = (name: string, driver = 'd'): PersistentVolume =>
  loose({
    metadata: { name: `pv-${name}` },
    spec: {
      csi: { driver, volumeHandle: `h-${name}` },
      claimRef: { name, namespace: 'n', uid: `uid-${name}` },
    },
  });
const boundClaim = (name: string, change: Change = {}): PersistentVolumeClaim =>
  loose({
    metadata: { name, namespace: 'n', uid: `uid-${name}`, ...change.metadata },
    spec: { volumeName: `pv-${name}` },
    status: { phase: 'Bound', ...change.status },
  });
const source = (name: string, driver?: string) => ({
  claim: boundClaim(name),
  volume: volumeOf(name, driver),
});
const groupClass = (name: string, change: object = {}, isDefault = false): VolumeGroupSnapshotClass =>
  loose({
    metadata: { name, annotations: isDefault ? { [ANN_DEFAULT_GROUP_SNAPSHOT_CLASS]: 'true' } : {} },
    driver: 'd',
    deletionPolicy: 'Delete',
    ...change,
  });
const unnamed = group({ spec: { volumeGroupSnapshotClassName: undefined } });
const plans: [string, Partial<GroupPlanFacts>, RegExp | string][] = [
  ['of no claim', { claims: [] }, /the selector finds no claim/],
  [
    'of a claim that is not bound',
    { claims: [{ ...source('a'), claim: boundClaim('a', { status: { phase: 'Pending' } }) }] },
    /claim "a" is not bound/,
  ],
  [
    'of a claim that is being deleted',
    { claims: [{ ...source('a'), claim: boundClaim('a', deleting) }] },
    /claim "a" is being deleted/,
  ],
  ['of a missing class', { classes: [] }, /VolumeGroupSnapshotClass "known" does not exist/],
  [
    'of two drivers',
    { claims: [source('a'), source('b', 'e')] },
    /claim "b" is of driver e: a group snapshot has volumes of one driver/,
  ],
  ['of the class it names', {}, 'known'],
  ['of the default class', { group: unnamed, classes: [groupClass('x'), groupClass('y', {}, true)] }, 'y'],
  [
    'without any default class',
    { group: unnamed, classes: [groupClass('x')] },
    /no VolumeGroupSnapshotClass is the default of driver d/,
  ],
  [
    'without a default class of the driver',
    { group: unnamed, classes: [groupClass('x', { driver: 'e' }, true)] },
    /no VolumeGroupSnapshotClass is the default of driver d/,
  ],
  [
    'with two default classes',
    { group: unnamed, classes: [groupClass('z', {}, true), groupClass('y', {}, true)] },
    /y, z are all defaults of driver d/,
  ],
  [
    'with half a secret',
    {
      classes: [
        groupClass('known', { parameters: { 'csi.storage.k8s.io/group-snapshotter-secret-name': 's' } }),
      ],
    },
    /secret/,
  ],
];
for (const [name, facts, expected] of plans) {
  test(`[GRP-1] the content of a group snapshot ${name}`, () => {
    const base = { group: group(), claims: [source('a')], classes: [groupClass('known')] };
    const plan = planGroupContent({ ...base, ...facts });
    if (typeof expected === 'string')
      assert.equal('groupClass' in plan && plan.groupClass.metadata.name, expected);
    else assert.match('message' in plan ? plan.message : 'no failure', expected);
  });
}

test('[GRP-2] a content has the volumes, the class, the finalizer and the secret', () => {
  const parameters = {
    'csi.storage.k8s.io/group-snapshotter-secret-name': 's',
    'csi.storage.k8s.io/group-snapshotter-secret-namespace': 'ns',
  };
  const facts = { group: group(), claims: [source('a'), source('b')] };
  const plan = planGroupContent({ ...facts, classes: [groupClass('known', { parameters })] });
  assert.ok('draft' in plan);
  assert.deepEqual(
    plan.claims.map(({ metadata }) => metadata.name),
    ['a', 'b'],
  );
  assert.deepEqual(plan.draft.metadata, {
    name: 'groupsnapcontent-gu',
    finalizers: [FINALIZER_GROUP_SNAPSHOT_CONTENT],
    annotations: { [ANN_GROUP_SNAPSHOT_SECRET_NAME]: 's', [ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE]: 'ns' },
  });
  assert.deepEqual(plan.draft.spec.source, { volumeHandles: ['h-a', 'h-b'] });
  assert.partialDeepStrictEqual(plan.draft.spec.volumeGroupSnapshotRef, ref);
  const plain = planGroupContent({ ...facts, classes: [groupClass('known')] });
  assert.equal('draft' in plain && plain.draft.metadata.annotations, undefined);
});

test('[GRP-2] a member belongs to its group, and has its secret', () => {
  const one = { info: { ...info('v1'), creationTime: 5, restoreSize: 7 }, volume: undefined };
  const withVolume = {
    info: { volumeHandle: 'v1', snapshotHandle: 's1' },
    volume: loose<PersistentVolume>({ spec: { volumeMode: 'Block', claimRef: { name: 'data' } } }),
  };
  const snapshot = memberSnapshot(group(), withVolume);
  assert.deepEqual(snapshot.metadata.finalizers, [FINALIZER_SNAPSHOT_IN_GROUP]);
  assert.equal(snapshot.metadata.ownerReferences?.[0]?.uid, 'gu');
  assert.deepEqual(snapshot.spec.source, { persistentVolumeClaimName: 'data' });
  assert.deepEqual(memberSnapshot(group(), one).spec.source, { persistentVolumeClaimName: '' });

  const annotations = { [ANN_GROUP_SNAPSHOT_SECRET_NAME]: 's', [ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE]: 'ns' };
  const made = { content: content({ metadata: { annotations }, status: cut }), snapshot: member('v1') };
  const draft = memberContent(made, withVolume);
  assert.equal(draft.metadata.name, memberNames('gu', 'v1').content);
  assert.deepEqual(draft.metadata.finalizers, [FINALIZER_SNAPSHOT_CONTENT]);
  assert.deepEqual(draft.metadata.annotations, {
    [ANN_GROUP_SNAPSHOT_HANDLE]: 'h',
    [ANN_SNAPSHOT_SECRET_NAME]: 's',
    [ANN_SNAPSHOT_SECRET_NAMESPACE]: 'ns',
  });
  assert.equal(draft.spec.sourceVolumeMode, 'Block');
  const plain = memberContent({ ...made, content: content({ status: cut }) }, one);
  assert.deepEqual(plain.metadata.annotations, { [ANN_GROUP_SNAPSHOT_HANDLE]: 'h' });
  assert.equal('sourceVolumeMode' in plain.spec, false);

  assert.deepEqual(memberContentStatus(content({ status: cut }), one), {
    snapshotHandle: 's-v1',
    readyToUse: true,
    volumeGroupSnapshotHandle: 'h',
    creationTime: 5,
    restoreSize: 7,
  });
  assert.deepEqual(memberContentStatus(content(), withVolume), { snapshotHandle: 's1', readyToUse: false });
});
