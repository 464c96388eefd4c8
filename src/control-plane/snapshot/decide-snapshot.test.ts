import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownerReferenceTo } from '../../api/group-snapshots.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeGroupSnapshot,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '../../api/kinds.ts';
import {
  ANN_DEFAULT_SNAPSHOT_CLASS,
  ANN_SNAPSHOT_BEING_DELETED,
  FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE,
  FINALIZER_SNAPSHOT_AS_SOURCE,
  FINALIZER_SNAPSHOT_BOUND,
  FINALIZER_SNAPSHOT_CONTENT,
  FINALIZER_SNAPSHOT_IN_GROUP,
  FINALIZER_SNAPSHOT_SOURCE_PROTECTION,
} from '../../api/well-known.ts';
import { hasFinalizer } from '../../runtime/kube/finalizers.ts';
import { decideContent, snapshotContents } from './content-reconciler.ts';
import { decideSnapshot, type SnapshotFacts } from './decide-snapshot.ts';
import { type ContentPlan, type PlanFacts, planContent } from './plan-content.ts';

const BOTH = [FINALIZER_SNAPSHOT_AS_SOURCE, FINALIZER_SNAPSHOT_BOUND];
const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' };

interface Change {
  metadata?: object;
  spec?: object;
  status?: object;
}

const snapshot = ({ metadata, spec, status }: Change = {}): VolumeSnapshot =>
  ({
    metadata: { name: 's', namespace: 'n', uid: 'su', finalizers: BOTH, ...metadata },
    spec: { source: { persistentVolumeClaimName: 'data' }, volumeSnapshotClassName: 'k', ...spec },
    ...(status && { status }),
  }) as unknown as VolumeSnapshot;

const content = ({ metadata, spec, status }: Change = {}): VolumeSnapshotContent =>
  ({
    metadata: { name: 'c', uid: 'cu', ...metadata },
    spec: {
      driver: 'd',
      deletionPolicy: 'Delete',
      source: { volumeHandle: 'vol' },
      volumeSnapshotRef: { name: 's', namespace: 'n', uid: 'su' },
      ...spec,
    },
    ...(status && { status }),
  }) as unknown as VolumeSnapshotContent;

const group = (metadata: object = {}): VolumeGroupSnapshot =>
  ({ metadata: { name: 'g', namespace: 'n', uid: 'gu', ...metadata } }) as unknown as VolumeGroupSnapshot;

const claim = (metadata: object = {}): PersistentVolumeClaim =>
  ({
    metadata: { name: 'data', namespace: 'n', uid: 'du', ...metadata },
    spec: { volumeName: 'pv' },
    status: { phase: 'Bound' },
  }) as unknown as PersistentVolumeClaim;
const protectedClaim = claim({ finalizers: [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE] });

const plan = (given: { claim?: PersistentVolumeClaim; policy?: string } = {}): ContentPlan =>
  ({
    claim: given.claim ?? protectedClaim,
    snapshotClass: { metadata: { name: 'k' }, driver: 'd', deletionPolicy: given.policy ?? 'Delete' },
    draft: {},
  }) as unknown as ContentPlan;

const named = { source: { volumeSnapshotContentName: 'c' }, volumeSnapshotClassName: undefined };
const prepared = { source: { snapshotHandle: 'old' } };
const marked = { annotations: { [ANN_SNAPSHOT_BEING_DELETED]: 'yes' } };
const bound = { boundVolumeSnapshotContentName: 'c', readyToUse: false };
const isReady = { boundVolumeSnapshotContentName: 'c', readyToUse: true, creationTime: 't' };

type Row = { name: string; wanted: string } & Partial<Omit<SnapshotFacts, 'plan'>> & {
    planned?: ReturnType<SnapshotFacts['plan']>;
  };

const rows: Row[] = [
  { name: 'new, nothing protected', snapshot: snapshot({ metadata: { finalizers: [] } }), wanted: 'protect' },
  { name: 'new, its claim not protected', planned: plan({ claim: claim() }), wanted: 'protect-claim' },
  { name: 'new', wanted: 'create-content' },
  {
    name: 'to be kept, and so without the second finalizer',
    snapshot: snapshot({ metadata: { finalizers: [FINALIZER_SNAPSHOT_AS_SOURCE] } }),
    planned: plan({ policy: 'Retain' }),
    wanted: 'create-content',
  },
  {
    name: 'without class',
    snapshot: snapshot({ spec: { volumeSnapshotClassName: undefined } }),
    wanted: 'protect',
  },
  { name: 'that cannot be', planned: { reason: 'Why', message: 'because' }, wanted: 'fail Why' },
  {
    name: 'with two sources',
    snapshot: snapshot({ spec: { source: {} } }),
    wanted: 'fail SnapshotValidationError',
  },
  { name: 'with a content', content: content(), wanted: 'write-status' },
  {
    name: 'that waits for its content',
    snapshot: snapshot({ status: bound }),
    content: content(),
    wanted: 'nothing',
  },
  {
    name: 'whose content is ready',
    snapshot: snapshot({ status: bound }),
    content: content({ status: { readyToUse: true, creationTime: 1e18 } }),
    wanted: 'write-status',
  },
  { name: 'that is ready', snapshot: snapshot({ status: isReady }), content: content(), wanted: 'nothing' },
  {
    name: 'that was cut and lost its content',
    snapshot: snapshot({ status: { ...isReady, readyToUse: false } }),
    wanted: 'fail SnapshotContentMissing',
  },
  {
    name: 'whose content is another’s',
    content: content({ spec: { volumeSnapshotRef: { name: 's', namespace: 'n', uid: 'other' } } }),
    wanted: 'fail SnapshotContentMisbound',
  },
  {
    name: 'that is ready and whose content is another’s',
    snapshot: snapshot({ status: isReady }),
    content: content({ spec: { volumeSnapshotRef: { name: 's', namespace: 'n', uid: 'other' } } }),
    wanted: 'fail SnapshotMisbound',
  },
  {
    name: 'whose content was there first',
    content: content({ spec: prepared }),
    wanted: 'fail SnapshotContentMismatch',
  },
  {
    name: 'that names no content there is',
    snapshot: snapshot({ spec: named }),
    wanted: 'fail SnapshotContentMissing',
  },
  {
    name: 'that names a content made for others',
    snapshot: snapshot({ spec: named }),
    content: content(),
    wanted: 'fail SnapshotContentMismatch',
  },
  {
    name: 'that names a content that waits for it',
    snapshot: snapshot({ spec: named }),
    content: content({ spec: { ...prepared, volumeSnapshotRef: { name: 's', namespace: 'n' } } }),
    wanted: 'bind-content',
  },
  {
    name: 'that names a content that waits for another',
    snapshot: snapshot({ spec: named }),
    content: content({ spec: { ...prepared, volumeSnapshotRef: { name: 's', namespace: 'elsewhere' } } }),
    wanted: 'fail SnapshotContentMisbound',
  },
  {
    name: 'of a group',
    snapshot: snapshot({
      metadata: {
        ownerReferences: [{ kind: 'VolumeGroupSnapshot', apiVersion: 'groupsnapshot.storage.k8s.io/v1' }],
      },
    }),
    wanted: 'nothing',
  },
  { name: 'to go, without content', snapshot: snapshot({ metadata: deleting }), wanted: `release ${BOTH}` },
  {
    name: 'to go, kept by others',
    snapshot: snapshot({ metadata: { ...deleting, finalizers: ['theirs'] } }),
    wanted: 'nothing',
  },
  {
    name: 'to go, its content another’s',
    snapshot: snapshot({ metadata: deleting }),
    content: content({ spec: { volumeSnapshotRef: { name: 's', namespace: 'n', uid: 'other' } } }),
    wanted: `release ${BOTH}`,
  },
  {
    name: 'to go, restored from',
    snapshot: snapshot({ metadata: deleting, status: bound }),
    content: content(),
    restoring: 'copy',
    wanted: 'wait',
  },
  {
    name: 'to go, restored from, its content ready meanwhile',
    snapshot: snapshot({ metadata: deleting, status: bound }),
    content: content({ status: { readyToUse: true } }),
    restoring: 'copy',
    wanted: 'write-status',
  },
  {
    name: 'to go, protected by the provisioner',
    snapshot: snapshot({
      metadata: { ...deleting, finalizers: [...BOTH, FINALIZER_SNAPSHOT_SOURCE_PROTECTION] },
      status: bound,
    }),
    content: content(),
    wanted: 'wait',
  },
  {
    name: 'to go, in a group that stays',
    snapshot: snapshot({
      metadata: { ...deleting, finalizers: [...BOTH, FINALIZER_SNAPSHOT_IN_GROUP] },
      status: { ...bound, volumeGroupSnapshotName: 'g' },
    }),
    content: content(),
    group: group(),
    wanted: 'wait',
  },
  {
    name: 'to go, in a group that stays, its content ready meanwhile',
    snapshot: snapshot({
      metadata: { ...deleting, finalizers: [...BOTH, FINALIZER_SNAPSHOT_IN_GROUP] },
      status: { ...bound, volumeGroupSnapshotName: 'g' },
    }),
    content: content({ status: { readyToUse: true } }),
    group: group(),
    wanted: 'write-status',
  },
  {
    name: 'of a group, its content without a handle',
    snapshot: snapshot({ metadata: { ownerReferences: [ownerReferenceTo(group())] } }),
    content: content(),
    group: group(),
    wanted: 'nothing',
  },
  {
    name: 'to go, in a group that goes',
    snapshot: snapshot({ metadata: { ...deleting, finalizers: [...BOTH, FINALIZER_SNAPSHOT_IN_GROUP] } }),
    content: content(),
    group: group(deleting),
    wanted: 'mark-content',
  },
  {
    name: 'to go, in a group that is gone, without content',
    snapshot: snapshot({ metadata: { ...deleting, finalizers: [...BOTH, FINALIZER_SNAPSHOT_IN_GROUP] } }),
    wanted: `release ${[BOTH[0], FINALIZER_SNAPSHOT_IN_GROUP, BOTH[1]]}`,
  },
  {
    name: 'to go, in a group, where groups are not enabled',
    snapshot: snapshot({
      metadata: { ...deleting, finalizers: [...BOTH, FINALIZER_SNAPSHOT_IN_GROUP] },
      status: bound,
    }),
    content: content(),
    knowsGroups: false,
    wanted: 'wait',
  },
  {
    name: 'there first, of a group',
    snapshot: snapshot({ metadata: { finalizers: BOTH } }),
    content: content(),
    group: group(),
    wanted: 'join-group',
  },
  { name: 'to go', snapshot: snapshot({ metadata: deleting }), content: content(), wanted: 'mark-content' },
  {
    name: 'to go, its content marked',
    snapshot: snapshot({ metadata: deleting }),
    content: content({ metadata: marked }),
    wanted: 'delete-content',
  },
  {
    name: 'to go, its content to be kept',
    snapshot: snapshot({ metadata: deleting }),
    content: content({ metadata: marked, spec: { deletionPolicy: 'Retain' } }),
    wanted: `release ${BOTH}`,
  },
  {
    name: 'to go, its content going',
    snapshot: snapshot({ metadata: deleting }),
    content: content({ metadata: { ...marked, ...deleting } }),
    wanted: `release ${FINALIZER_SNAPSHOT_AS_SOURCE}`,
  },
  {
    name: 'to go, waiting for its content',
    snapshot: snapshot({ metadata: { ...deleting, finalizers: [FINALIZER_SNAPSHOT_BOUND] } }),
    content: content({ metadata: { ...marked, ...deleting } }),
    wanted: 'nothing',
  },
  {
    name: 'to go, its content failing',
    snapshot: snapshot({ metadata: { ...deleting, finalizers: [FINALIZER_SNAPSHOT_BOUND] } }),
    content: content({ metadata: { ...marked, ...deleting }, status: { error: { message: 'stuck' } } }),
    wanted: 'write-status',
  },
];

const isProtected = (claim: PersistentVolumeClaim): boolean =>
  hasFinalizer(claim, FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE);
for (const { name, wanted, planned = plan(), ...given } of rows) {
  test(`a snapshot ${name}`, () => {
    const facts = {
      snapshot: snapshot(),
      content: undefined,
      restoring: undefined,
      group: undefined,
      knowsGroups: true,
      isHeld: isProtected,
      ...given,
    };
    const step = decideSnapshot({ ...facts, plan: () => planned });
    const detail =
      step.do === 'fail' ? ` ${step.reason}` : step.do === 'release' ? ` ${step.finalizers}` : '';
    assert.equal(`${step.do}${detail}`, wanted);
  });
}

const classOf = (name: string, more: object = {}): VolumeSnapshotClass =>
  ({ metadata: { name }, driver: 'd', deletionPolicy: 'Delete', ...more }) as unknown as VolumeSnapshotClass;
const asDefault = (name: string, driver = 'd') =>
  classOf(name, { metadata: { name, annotations: { [ANN_DEFAULT_SNAPSHOT_CLASS]: 'true' } }, driver });
const volume = (spec: object = {}): PersistentVolume =>
  ({
    metadata: { name: 'pv' },
    spec: {
      csi: { driver: 'd', volumeHandle: 'vol' },
      volumeMode: 'Block',
      claimRef: { name: 'data', namespace: 'n', uid: 'du' },
      ...spec,
    },
  }) as unknown as PersistentVolume;

const planned = (change: Partial<PlanFacts> = {}) =>
  planContent({
    snapshot: snapshot(),
    claim: claim(),
    volume: volume(),
    classes: [classOf('k')],
    recordsVolumeMode: true,
    ...change,
  });
const without = snapshot({ spec: { volumeSnapshotClassName: undefined } });

const refused: [string, Partial<PlanFacts>, RegExp][] = [
  ['no claim', { claim: undefined }, /"data" does not exist/],
  ['a claim without volume', { claim: { ...claim(), status: { phase: 'Pending' } } as never }, /not bound/],
  ['a volume that is gone', { volume: undefined }, /is gone/],
  [
    'a volume of another claim',
    { volume: volume({ claimRef: { name: 'x', namespace: 'n' } }) },
    /is not bound to/,
  ],
  ['a volume of no CSI driver', { volume: volume({ csi: undefined }) }, /only CSI volumes have snapshots/],
  ['no such class', { classes: [] }, /"k" does not exist/],
  ['a class of another driver', { classes: [classOf('k', { driver: 'e' })] }, /is for driver e/],
  [
    'no default',
    { snapshot: without, classes: [classOf('k'), asDefault('e', 'e')] },
    /no VolumeSnapshotClass is/,
  ],
  ['two defaults', { snapshot: without, classes: [asDefault('b'), asDefault('a')] }, /a, b are all defaults/],
  ['a claim that is going', { claim: claim(deleting) }, /is being deleted/],
  [
    'half a secret',
    { classes: [classOf('k', { parameters: { 'csi.storage.k8s.io/snapshotter-secret-name': 'x' } })] },
    /only half of a secret/,
  ],
];
for (const [name, change, says] of refused) {
  test(`${name} is in the way of a content`, () => {
    const failure = planned(change);
    assert.ok('message' in failure);
    assert.match(failure.message, says);
  });
}

test('a content is made whole: source, mode, class, secret, finalizer, reference', () => {
  const parameters = {
    'csi.storage.k8s.io/snapshotter-secret-name': `of-\${volumesnapshot.name}`,
    'csi.storage.k8s.io/snapshotter-secret-namespace': `\${volumesnapshot.namespace}`,
  };
  const made = planned({ snapshot: without, classes: [classOf('x'), { ...asDefault('k'), parameters }] });
  assert.ok('draft' in made);
  assert.deepEqual(made.draft, {
    metadata: {
      name: 'snapcontent-su',
      finalizers: [FINALIZER_SNAPSHOT_CONTENT],
      annotations: {
        'snapshot.storage.kubernetes.io/deletion-secret-name': 'of-s',
        'snapshot.storage.kubernetes.io/deletion-secret-namespace': 'n',
      },
    },
    spec: {
      driver: 'd',
      deletionPolicy: 'Delete',
      volumeSnapshotClassName: 'k',
      source: { volumeHandle: 'vol' },
      sourceVolumeMode: 'Block',
      volumeSnapshotRef: {
        apiVersion: 'snapshot.storage.k8s.io/v1',
        kind: 'VolumeSnapshot',
        name: 's',
        namespace: 'n',
        uid: 'su',
      },
    },
  });
});

test('a content by itself: protected once owned, and let go when deleted and orphaned', () => {
  const finalizers = [FINALIZER_SNAPSHOT_CONTENT];
  const table: [VolumeSnapshotContent, string][] = [
    [content(), 'protect'],
    [content({ metadata: { finalizers } }), 'nothing'],
    [content({ spec: { volumeSnapshotRef: { name: 's', namespace: 'n' } } }), 'nothing'],
    [content({ spec: { source: {} } }), 'tell'],
    [content({ metadata: { ...deleting, finalizers } }), 'mark-if-orphan'],
    [content({ metadata: { ...deleting, ...marked, finalizers } }), 'nothing'],
  ];
  for (const [each, wanted] of table)
    assert.equal(decideContent(snapshotContents, each, snapshot()).do, wanted);
});
