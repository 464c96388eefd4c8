import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from '../../../api/kinds.ts';
import { FINALIZER_SNAPSHOT_SOURCE_PROTECTION } from '../../../api/well-known.ts';
import { parseDriverName } from '../../../csi/names/driver-name.ts';
import { ClaimProblem } from '../planning/claim-problem.ts';
import { cloneSourceIdFor, snapshotIdFor } from './check-source.ts';
import { dataSourceOf, sourceKeyOf } from './data-source.ts';

const DRIVER = parseDriverName('driver.example');
const SNAPSHOTS = 'snapshot.storage.k8s.io';

/** The text of the problem, with `slow` where only the user can help; or what the function returns. */
function answer<T>(ask: () => T): T | string {
  try {
    return ask();
  } catch (error) {
    assert.ok(error instanceof ClaimProblem);
    return `${error.slow ? 'slow: ' : ''}${error.message}`;
  }
}

type Spec = Partial<PersistentVolumeClaim['spec']>;
const claim = (spec: Spec = {}, storage = '1Gi') =>
  ({
    metadata: { name: 'new', namespace: 'ns' },
    spec: { resources: { requests: { storage } }, ...spec },
  }) as PersistentVolumeClaim;

const kinds: { name: string; spec: Spec; then: object | string | undefined; key?: string }[] = [
  { name: 'no source', spec: {}, then: undefined },
  {
    name: 'a snapshot',
    spec: { dataSource: { apiGroup: SNAPSHOTS, kind: 'VolumeSnapshot', name: 's' } },
    then: { kind: 'snapshot', name: 's', namespace: 'ns' },
    key: 'snapshot:ns/s',
  },
  {
    name: 'a claim',
    spec: { dataSource: { kind: 'PersistentVolumeClaim', name: 'c' } },
    then: { kind: 'claim', name: 'c', namespace: 'ns' },
    key: 'claim:ns/c',
  },
  {
    name: 'a reference, where there is no source',
    spec: { dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'c', namespace: 'ns' } },
    then: { kind: 'claim', name: 'c', namespace: 'ns' },
    key: 'claim:ns/c',
  },
  {
    name: 'both: the source',
    spec: {
      dataSource: { kind: 'PersistentVolumeClaim', name: 'c' },
      dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'd', namespace: 'other' },
    },
    then: { kind: 'claim', name: 'c', namespace: 'ns' },
    key: 'claim:ns/c',
  },
  {
    name: 'a reference to another namespace',
    spec: { dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'c', namespace: 'other' } },
    then: { kind: 'claim', name: 'c', namespace: 'other' },
    key: 'claim:other/c',
  },
  {
    name: 'a snapshot of another group',
    spec: { dataSource: { apiGroup: 'x.example', kind: 'VolumeSnapshot', name: 's' } },
    then: `slow: the PVC source does not belong to the right APIGroup. Expected ${SNAPSHOTS}, Got x.example`,
  },
  {
    name: 'a snapshot of no group',
    spec: { dataSource: { kind: 'VolumeSnapshot', name: 's' } },
    then: `slow: the PVC source does not belong to the right APIGroup. Expected ${SNAPSHOTS}, Got `,
  },
  {
    name: 'a claim of some group',
    spec: { dataSource: { apiGroup: 'x.example', kind: 'PersistentVolumeClaim', name: 'c' } },
    then: 'slow: the PVC source does not belong to the right APIGroup. Expected "", Got x.example',
  },
  {
    name: 'a populator',
    spec: { dataSource: { apiGroup: 'x.example', kind: 'Book', name: 'b' } },
    then: { kind: 'populator', what: 'Book.x.example' },
  },
  {
    name: 'a populator of the core group',
    spec: { dataSource: { kind: 'Book', name: 'b' } },
    then: { kind: 'populator', what: 'Book' },
  },
];
for (const { name, spec, then, key } of kinds) {
  test(`the data source of a claim: ${name}`, () => {
    assert.deepEqual(
      answer(() => dataSourceOf(claim(spec))),
      then,
    );
    assert.equal(sourceKeyOf(claim(spec)), key);
  });
}

interface SnapshotWorld {
  snapshot?: { metadata?: object; status?: object };
  content?: { metadata?: object; spec?: object; status?: object };
  claim?: PersistentVolumeClaim;
  allowConversion?: boolean;
}
const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const ref = { uid: 'u', namespace: 'ns', name: 's' };
const annotation = 'snapshot.storage.kubernetes.io/allow-volume-mode-change';

function snapshotAnswer({ snapshot = {}, content = {}, claim: given, allowConversion }: SnapshotWorld) {
  const sources = {
    snapshot: {
      metadata: { name: 's', namespace: 'ns', uid: 'u', ...snapshot.metadata },
      status: { readyToUse: true, restoreSize: '1Gi', ...snapshot.status },
    } as VolumeSnapshot,
    content: {
      metadata: { name: 'c', ...content.metadata },
      spec: { volumeSnapshotRef: ref, driver: DRIVER, sourceVolumeMode: 'Filesystem', ...content.spec },
      status: { snapshotHandle: 'h', ...content.status },
    } as unknown as VolumeSnapshotContent,
  };
  const rules = { driver: DRIVER, preventVolumeModeConversion: !allowConversion };
  return answer(() => snapshotIdFor(given ?? claim(), sources, rules));
}

const other = 'snapshotcontent c for snapshot s is bound to a different snapshot';
const block = claim({ volumeMode: 'Block' });
const snapshots: { name: string; given: SnapshotWorld; then: string | RegExp }[] = [
  { name: 'ready', given: {}, then: 'h' },
  { name: 'being deleted', given: { snapshot: { metadata: deleted } }, then: 'snapshot s is being deleted' },
  {
    name: 'being deleted, while the restore has begun',
    given: { snapshot: { metadata: { ...deleted, finalizers: [FINALIZER_SNAPSHOT_SOURCE_PROTECTION] } } },
    then: 'h',
  },
  {
    name: 'whose content is of an earlier one',
    given: { content: { spec: { volumeSnapshotRef: { ...ref, uid: 'v' } } } },
    then: other,
  },
  {
    name: 'whose content is of one in another namespace',
    given: { content: { spec: { volumeSnapshotRef: { ...ref, namespace: 'x' } } } },
    then: other,
  },
  {
    name: 'whose content is of one with another name',
    given: { content: { spec: { volumeSnapshotRef: { ...ref, name: 'x' } } } },
    then: other,
  },
  {
    name: 'of another driver',
    given: { content: { spec: { driver: 'x.example' } } },
    then: 'slow: snapshot s was created by driver x.example, not by driver.example',
  },
  {
    name: 'not ready',
    given: { snapshot: { status: { readyToUse: false } } },
    then: 'snapshot s is not ready',
  },
  {
    name: 'without a handle',
    given: { content: { status: { snapshotHandle: '' } } },
    then: 'the handle of snapshot s is not available yet',
  },
  {
    name: 'larger than the claim',
    given: { snapshot: { status: { restoreSize: '2Gi' } } },
    then: 'slow: the claim asks for 1073741824 bytes, less than the 2147483648 of snapshot s',
  },
  { name: 'of unknown size', given: { snapshot: { status: { restoreSize: undefined } } }, then: 'h' },
  {
    name: 'of another volume mode',
    given: { claim: block },
    then: /^slow: snapshot s is of a Filesystem volume and the claim requests Block;/,
  },
  {
    name: 'of another volume mode, which is not prevented',
    given: { claim: block, allowConversion: true },
    then: 'h',
  },
  {
    name: 'of another volume mode, which is allowed',
    given: { claim: block, content: { metadata: { annotations: { [annotation]: 'T' } } } },
    then: 'h',
  },
  {
    name: 'of another volume mode, which is denied',
    given: { claim: block, content: { metadata: { annotations: { [annotation]: 'no' } } } },
    then: /requires the annotation/,
  },
  {
    name: 'of unknown volume mode',
    given: { claim: block, content: { spec: { sourceVolumeMode: undefined } } },
    then: 'h',
  },
];
for (const { name, given, then } of snapshots) {
  test(`a volume from a snapshot ${name}`, () => {
    const found = snapshotAnswer(given);
    if (then instanceof RegExp) assert.match(found, then);
    else assert.equal(found, then);
  });
}

interface CloneWorld {
  source?: { metadata?: object; spec?: object; status?: object };
  volume?: { spec?: object; status?: object } | null;
  claim?: PersistentVolumeClaim;
}
function cloneAnswer({ source = {}, volume = {}, claim: given }: CloneWorld) {
  const sources = {
    source: {
      metadata: { name: 'old', uid: 'u', ...source.metadata },
      spec: { volumeName: 'pv', resources: { requests: { storage: '1Gi' } }, ...source.spec },
      status: { phase: 'Bound', ...source.status },
    } as unknown as PersistentVolumeClaim,
    volume:
      volume === null
        ? undefined
        : ({
            spec: { claimRef: { uid: 'u' }, csi: { driver: DRIVER, volumeHandle: 'h' }, ...volume.spec },
            status: { phase: 'Bound', ...volume.status },
          } as unknown as PersistentVolume),
  };
  return answer(() => cloneSourceIdFor(given ?? claim(), sources, DRIVER));
}

const improper = 'source claim old is not properly bound to a CSI volume';
const clones: { name: string; given: CloneWorld; then: string }[] = [
  { name: 'bound', given: {}, then: 'h' },
  {
    name: 'being deleted',
    given: { source: { metadata: deleted } },
    then: 'source claim old is being deleted',
  },
  {
    name: 'not bound',
    given: { source: { status: { phase: 'Pending' } } },
    then: 'source claim old is not bound',
  },
  {
    name: 'without a volume name',
    given: { source: { spec: { volumeName: '' } } },
    then: 'source claim old is not bound',
  },
  { name: 'whose volume does not exist', given: { volume: null }, then: improper },
  { name: 'whose volume is not CSI', given: { volume: { spec: { csi: undefined } } }, then: improper },
  {
    name: 'whose volume is of another claim',
    given: { volume: { spec: { claimRef: { uid: 'v' } } } },
    then: improper,
  },
  { name: 'whose volume is not bound', given: { volume: { status: { phase: 'Failed' } } }, then: improper },
  {
    name: 'of another driver',
    given: { volume: { spec: { csi: { driver: 'x.example', volumeHandle: 'h' } } } },
    then: 'slow: the volume of source claim old belongs to driver x.example, not to driver.example',
  },
  {
    name: 'larger than the new one',
    given: { claim: claim({}, '1Mi') },
    then: 'slow: the claim asks for 1048576 bytes, less than the 1073741824 of source claim old',
  },
  {
    name: 'of another volume mode',
    given: { claim: block },
    then: 'slow: the claim and source claim old must have the same volume mode',
  },
];
for (const { name, given, then } of clones) {
  test(`a clone of a claim ${name}`, () => assert.equal(cloneAnswer(given), then));
}
