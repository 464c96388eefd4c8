import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeClaim, StorageClass } from '../../../api/kinds.ts';
import { FINALIZER_PROVISIONING } from '../../../api/well-known.ts';
import { type ClaimSnapshot, type ClaimStep, decideClaim } from './decide-claim.ts';

const DRIVER = 'd.example';

interface ClaimShape {
  intent?: boolean;
  deleting?: boolean;
  volumeName?: string;
  phase?: string;
  selectedNode?: string;
  provisioner?: string;
}

function claim(shape: ClaimShape = {}): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: 'data',
      namespace: 'default',
      uid: 'u1',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: {
        'volume.kubernetes.io/storage-provisioner': shape.provisioner ?? DRIVER,
        ...(shape.selectedNode && { 'volume.kubernetes.io/selected-node': shape.selectedNode }),
      },
      ...(shape.intent && { finalizers: [FINALIZER_PROVISIONING] }),
      ...(shape.deleting && { deletionTimestamp: '2026-01-01T00:00:01Z' }),
    },
    spec: { storageClassName: 'fast', ...(shape.volumeName && { volumeName: shape.volumeName }) },
    ...(shape.phase && { status: { phase: shape.phase } }),
  } as PersistentVolumeClaim;
}

const storageClass = (volumeBindingMode = 'Immediate', provisioner = DRIVER) =>
  ({ metadata: { name: 'fast' }, provisioner, volumeBindingMode }) as unknown as StorageClass;

const ours = { claimUid: 'u1' };
const node = { name: 'n1', takesImmediate: true };

const table: { name: string; given: ClaimShape; with?: Partial<ClaimSnapshot>; then: ClaimStep['do'] }[] = [
  { name: 'asked for', given: {}, then: 'provision' },
  { name: 'for another provisioner', given: { provisioner: 'other' }, then: 'nothing' },
  { name: 'asked for, began before', given: { intent: true }, then: 'provision' },
  { name: 'class gone', given: {}, with: { storageClass: undefined }, then: 'nothing' },
  {
    name: 'class of another driver',
    given: {},
    with: { storageClass: storageClass('Immediate', 'x') },
    then: 'nothing',
  },
  {
    name: 'no node selected yet',
    given: {},
    with: { storageClass: storageClass('WaitForFirstConsumer') },
    then: 'nothing',
  },
  {
    name: 'node selected',
    given: { selectedNode: 'n1' },
    with: { storageClass: storageClass('WaitForFirstConsumer') },
    then: 'provision',
  },
  { name: 'deleted before it began', given: { deleting: true }, then: 'nothing' },
  { name: 'deleted after it began', given: { deleting: true, intent: true }, then: 'follow' },
  {
    name: 'deleted, class gone',
    given: { deleting: true, intent: true },
    with: { storageClass: undefined },
    then: 'follow',
  },
  { name: 'bound to another volume', given: { volumeName: 'static' }, then: 'nothing' },
  {
    name: 'bound to another volume after it began',
    given: { volumeName: 'static', intent: true },
    then: 'follow',
  },
  { name: 'volume there', given: {}, with: { volumeFor: ours }, then: 'nothing' },
  {
    name: 'has its volume',
    given: { volumeName: 'pvc-u1' },
    with: { volumeFor: ours },
    then: 'release-source',
  },
  {
    name: 'volume there, binder at work',
    given: { intent: true, phase: 'Pending' },
    with: { volumeFor: ours },
    then: 'await-binding',
  },
  { name: 'bound', given: { intent: true, phase: 'Bound' }, with: { volumeFor: ours }, then: 'settle' },
  { name: 'volume lost', given: { intent: true, phase: 'Lost', volumeName: 'pvc-u1' }, then: 'settle' },
  {
    name: 'volume there, claim deleted',
    given: { intent: true, deleting: true },
    with: { volumeFor: ours },
    then: 'settle',
  },
  {
    name: 'bound, volume deleted by hand',
    given: { intent: true, phase: 'Bound', volumeName: 'pvc-u1' },
    then: 'settle',
  },
  { name: 'name taken', given: {}, with: { volumeFor: { claimUid: 'u2' } }, then: 'refuse' },
  { name: 'node: nobody selected', given: {}, with: { node }, then: 'take' },
  {
    name: 'node: nobody selected, not taking',
    given: {},
    with: { node: { ...node, takesImmediate: false } },
    then: 'nothing',
  },
  { name: 'node: selected', given: { selectedNode: 'n1' }, with: { node }, then: 'provision' },
  { name: 'node: another selected', given: { selectedNode: 'n2' }, with: { node }, then: 'nothing' },
  {
    name: 'node: another one follows its own',
    given: { selectedNode: 'n2', intent: true, deleting: true },
    with: { node },
    then: 'nothing',
  },
];

test('what to do for a claim', () => {
  for (const { name, given, with: change = {}, then } of table) {
    const snapshot: ClaimSnapshot = {
      claim: claim(given),
      driver: DRIVER,
      volumeName: 'pvc-u1',
      volumeFor: undefined,
      storageClass: storageClass(),
      ...change,
    };
    assert.equal(decideClaim(snapshot).do, then, name);
  }
});
