// Which changes wake the loops of snapshots and group snapshots when both are on.

import {
  persistentVolumeClaims,
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import {
  FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE,
  FINALIZER_GROUP_SNAPSHOT_CONTENT,
  FINALIZER_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import { changesOf } from '../../runtime/informer/testing/woken-loops.ts';
import { createSnapshotController } from '../snapshot/snapshot-controller.ts';
import { deleting, objectsLike, testWakes, type WakeRow } from '../testing/wake-rows.ts';

const [SNAPSHOT, CONTENT, CLAIM, GROUP, GROUP_CONTENT] = [
  'snapshot',
  'content',
  'claim',
  'group-snapshot',
  'group-content',
].map((each) => `snapshot-controller-${each}`) as [string, string, string, string, string];

const selected = { metadata: { namespace: 'ns', labels: { app: 'db' } } };
const group = objectsLike('g', {
  metadata: { namespace: 'ns' },
  spec: { source: { selector: { matchLabels: { app: 'db' } } } },
});
const ready = { status: { readyToUse: true } };
const claim = objectsLike('c', selected);
const other = objectsLike('d', { metadata: { namespace: 'ns' } });
const groupOwner = {
  apiVersion: 'groupsnapshot.storage.k8s.io/v1',
  kind: 'VolumeGroupSnapshot',
  name: 'g',
  uid: 'uid-g',
};
const member = objectsLike('s', {
  metadata: { namespace: 'ns', ownerReferences: [groupOwner] },
  spec: { source: { persistentVolumeClaimName: 'x' } },
});
const single = objectsLike('t', {
  metadata: { namespace: 'ns' },
  spec: { source: { persistentVolumeClaimName: 'x' } },
});
const content = objectsLike('gc', {
  metadata: { finalizers: [FINALIZER_GROUP_SNAPSHOT_CONTENT] },
  spec: {
    driver: 'd',
    source: { volumeHandles: ['v'] },
    volumeGroupSnapshotRef: { name: 'g', namespace: 'ns', uid: 'uid-g' },
  },
});
const late = { metadata: { name: 'groupsnapcontent-uid-g' }, spec: { deletionPolicy: 'Delete' } };
const handle = { status: { volumeGroupSnapshotHandle: 'h' } };
const memberContent = objectsLike('sc', {
  spec: { driver: 'd', source: { volumeHandle: 'v' }, volumeSnapshotRef: { name: 's', namespace: 'ns' } },
  status: { volumeGroupSnapshotHandle: 'h' },
});

const groups = changesOf(volumeGroupSnapshots);
const contents = changesOf(volumeGroupSnapshotContents);
const snapshots = changesOf(volumeSnapshots);
const claims = changesOf(persistentVolumeClaims);
const classes = changesOf(volumeGroupSnapshotClasses);
const withMember: WakeRow[3] = [[volumeSnapshots, member()]];
const keeping = { finalizers: [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE] };
/** Its label may be gone since it was protected. */
const withClaims: WakeRow[3] = [
  [persistentVolumeClaims, claim()],
  [persistentVolumeClaims, other({ metadata: keeping })],
  [persistentVolumeClaims, objectsLike('c', { metadata: { namespace: 'other', ...keeping } })()],
];
const unready: WakeRow[3] = [[volumeGroupSnapshots, group()]];

testWakes('group snapshots', (ports) => createSnapshotController(ports), [
  ['a group', groups(undefined, group()), [GROUP]],
  ['a label of a group', groups(group(), group({ metadata: { labels: {} } })), [], withMember],
  [
    'another spec of a group',
    groups(group(), group({ spec: { volumeGroupSnapshotClassName: 'x' } })),
    [GROUP],
  ],
  ['another group of that name', groups(group(), group({ metadata: { uid: 'x' } })), [GROUP]],
  ['a group that is being deleted', groups(group(), group(deleting)), [SNAPSHOT, GROUP], withMember],
  ['a group that is ready', groups(group(), group(ready)), [CLAIM], withClaims],
  ['a group that stays ready', groups(group(ready), group(ready)), [], withClaims],
  ['a group that is not ready any more', groups(group(ready), group()), [GROUP], withClaims],
  ['the end of a group', groups(group(), undefined), [SNAPSHOT, CLAIM], [...withMember, ...withClaims]],
  [
    'the end of a group with a content that goes',
    groups(group({ status: { boundVolumeGroupSnapshotContentName: 'gc' } }), undefined),
    [GROUP_CONTENT],
    [[volumeGroupSnapshotContents, content(deleting)]],
  ],
  [
    'the end of a group with a content that stays',
    groups(group({ status: { boundVolumeGroupSnapshotContentName: 'gc' } }), undefined),
    [],
    [[volumeGroupSnapshotContents, content()]],
  ],
  ['a content without its group', contents(undefined, content()), []],
  [
    'a content that was created after the end of its group',
    contents(undefined, content(late)),
    [GROUP_CONTENT],
  ],
  ['a content that was just created', contents(undefined, content(late)), [GROUP], unready],
  [
    'the end of a group whose content it did not know',
    groups(group(), undefined),
    [GROUP_CONTENT],
    [[volumeGroupSnapshotContents, content(late)]],
  ],
  [
    'a group in place of one whose content it did not know',
    groups(group(), group({ metadata: { uid: 'x' } })),
    [GROUP, GROUP_CONTENT],
    [[volumeGroupSnapshotContents, content(late)]],
  ],
  ['a content of a group', contents(undefined, content()), [GROUP], unready],
  [
    'a content without its finalizer',
    contents(undefined, content({ metadata: { finalizers: [] } })),
    [GROUP_CONTENT],
  ],
  [
    'a content whose handle is known',
    contents(content(), content(handle)),
    [SNAPSHOT],
    [[volumeSnapshotContents, memberContent()]],
  ],
  [
    'a content of another driver with that handle',
    contents(content(), content({ ...handle, spec: { driver: 'x' } })),
    [],
    [[volumeSnapshotContents, memberContent()]],
  ],
  ['the end of a content', contents(content(), undefined), [GROUP], unready],
  [
    'the end of a content, where a claim is protected',
    contents(content(), undefined),
    [GROUP, CLAIM],
    [...unready, ...withClaims],
  ],
  ['a class', classes(undefined, objectsLike('x')()), [GROUP], unready],
  ['a changed class', classes(objectsLike('x')(), objectsLike('x')()), [GROUP], unready],
  [
    'a class, where all groups are ready',
    classes(undefined, objectsLike('x')()),
    [],
    [[volumeGroupSnapshots, group(ready)]],
  ],
  ['a member', snapshots(undefined, member()), [SNAPSHOT, GROUP]],
  ['a snapshot without a group', snapshots(undefined, single()), [SNAPSHOT]],
  ['a member that is ready', snapshots(member(), member(ready)), [CLAIM, GROUP]],
  ['another status of a member', snapshots(member(), member({ status: { error: {} } })), []],
  ['the end of a member', snapshots(member(), undefined), [CLAIM, GROUP]],
  ['a claim', claims(undefined, claim()), [GROUP], unready],
  [
    'a claim, where all groups are ready',
    claims(undefined, claim()),
    [],
    [[volumeGroupSnapshots, group(ready)]],
  ],
  [
    'a claim of another namespace',
    claims(undefined, claim({ metadata: { namespace: 'other' } })),
    [],
    unready,
  ],
  ['a label of a claim', claims(claim(), claim({ metadata: { labels: {} } })), [GROUP], unready],
  ['an annotation of a claim', claims(claim(), claim({ metadata: { annotations: {} } })), [], unready],
  ['a claim that is bound', claims(claim(), claim({ status: { phase: 'Bound' } })), [GROUP], unready],
  ['the end of a claim', claims(claim(), undefined), [GROUP], unready],
  ['a claim that is being deleted', claims(claim(), claim(deleting)), [GROUP], unready],
  ['a claim that is being deleted still', claims(claim(deleting), claim(deleting)), [], unready],
]);

const fromSnapshot = {
  spec: { dataSource: { kind: 'VolumeSnapshot', apiGroup: 'snapshot.storage.k8s.io', name: 't' } },
};
const lateContent = objectsLike('snapcontent-uid-t', {
  metadata: { finalizers: [FINALIZER_SNAPSHOT_CONTENT] },
  spec: {
    deletionPolicy: 'Delete',
    source: { volumeHandle: 'v' },
    volumeSnapshotRef: { name: 't', namespace: 'ns', uid: 'uid-t' },
  },
})();
const restored = claim({ ...fromSnapshot, status: { phase: 'Bound' } });
testWakes('snapshots', (ports) => createSnapshotController(ports), [
  [
    'a restored claim',
    claims(claim(fromSnapshot), restored),
    [SNAPSHOT],
    [[volumeSnapshots, single(deleting)]],
  ],
  [
    'a claim restored from a snapshot that stays',
    claims(claim(fromSnapshot), restored),
    [],
    [[volumeSnapshots, single()]],
  ],
  [
    'the end of a claim being restored',
    claims(claim(fromSnapshot), undefined),
    [SNAPSHOT],
    [[volumeSnapshots, single(deleting)]],
  ],
  [
    'the end of a snapshot whose content stays',
    snapshots(single({ status: { boundVolumeSnapshotContentName: 'sc' } }), undefined),
    [CLAIM],
    [[volumeSnapshotContents, memberContent()]],
  ],
  [
    'the end of a snapshot with a faulty content',
    snapshots(single({ status: { boundVolumeSnapshotContentName: 'sc' } }), undefined),
    [CONTENT, CLAIM],
    [[volumeSnapshotContents, memberContent({ spec: { source: {} } })]],
  ],
  [
    'the end of a snapshot whose content it did not know',
    snapshots(single(), undefined),
    [CONTENT, CLAIM],
    [[volumeSnapshotContents, lateContent]],
  ],
  [
    'a snapshot in place of one whose content it did not know',
    snapshots(single(), single({ metadata: { uid: 'x' } })),
    [CONTENT, SNAPSHOT],
    [[volumeSnapshotContents, lateContent]],
  ],
  [
    'a content that was created after the end of its snapshot',
    changesOf(volumeSnapshotContents)(undefined, lateContent),
    [CONTENT],
  ],
  [
    'a content that was just created',
    changesOf(volumeSnapshotContents)(undefined, lateContent),
    [SNAPSHOT],
    [[volumeSnapshots, single()]],
  ],
  ['a snapshot that is not ready any more', snapshots(single(ready), single()), [SNAPSHOT]],
  ['a ready snapshot that stays ready', snapshots(single(ready), single(ready)), []],
  [
    'the end of a snapshot of no claim',
    snapshots(single({ spec: { source: { volumeSnapshotContentName: 'x' } } }), undefined),
    [],
  ],
]);
