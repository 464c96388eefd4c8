import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeSnapshotContent } from '../../api/kinds.ts';
import {
  ANN_GROUP_SNAPSHOT_HANDLE,
  ANN_SNAPSHOT_BEING_CREATED,
  ANN_SNAPSHOT_BEING_DELETED,
  ANN_SNAPSHOT_PARAMETERS,
  FINALIZER_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import { parseDriverName, type SnapshotHandle } from '../../csi/names/driver-name.ts';
import { statusPatch } from './content-status.ts';
import { decideContent } from './decide-content.ts';
import { snapshotContentFacts } from './snapshot-kind.ts';
import { parametersRecord, recordedParameters, snapshotNameFor } from './snapshot-request.ts';

interface Change {
  metadata?: object;
  annotations?: Record<string, string>;
  spec?: object;
  status?: VolumeSnapshotContent['status'];
}

const content = ({ metadata, annotations, spec, status }: Change = {}): VolumeSnapshotContent =>
  ({
    metadata: { name: 'c', uid: 'u', finalizers: [FINALIZER_SNAPSHOT_CONTENT], annotations, ...metadata },
    spec: {
      driver: parseDriverName('d'),
      deletionPolicy: 'Delete',
      source: { volumeHandle: 'vol' },
      volumeSnapshotRef: { name: 's', namespace: 'n', uid: 'su' },
      ...spec,
    },
    ...(status && { status }),
  }) as unknown as VolumeSnapshotContent;

const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const marked = { [ANN_SNAPSHOT_BEING_DELETED]: 'yes' };
const asked = { [ANN_SNAPSHOT_BEING_CREATED]: 'yes' };
const prepared = { source: { snapshotHandle: 'old' } };
const unbound = { volumeSnapshotRef: { name: 's', namespace: 'n' } };
const made = { snapshotHandle: 'snap', readyToUse: false };
const ready = { snapshotHandle: 'snap', readyToUse: true };

const table: [string, Change, object][] = [
  ['a new one', {}, { do: 'create' }],
  ['one that failed', { status: { readyToUse: false } }, { do: 'create' }],
  ['one that is not ready', { status: made }, { do: 'create' }],
  ['one that is ready', { status: ready }, { do: 'nothing' }],
  ['one that is ready and still recorded', { status: ready, annotations: asked }, { do: 'create' }],
  [
    'one that is ready and has its parameters',
    { status: ready, annotations: { [ANN_SNAPSHOT_PARAMETERS]: '{}' } },
    { do: 'create' },
  ],
  ['about to be deleted, never asked for', { annotations: marked }, { do: 'nothing' }],
  [
    'about to be let go of and to be kept',
    { annotations: marked, spec: { deletionPolicy: 'Retain' } },
    { do: 'create' },
  ],
  ['of another driver', { spec: { driver: 'other' } }, { do: 'nothing' }],
  ['bound to nothing', { spec: unbound }, { do: 'nothing' }],
  ['with two sources', { spec: { source: { volumeHandle: 'a', snapshotHandle: 'b' } } }, { do: 'nothing' }],
  ['there first', { spec: prepared }, { do: 'look', handle: 'old' }],
  ['there first, and ready', { spec: prepared, status: ready }, { do: 'nothing' }],
  [
    'deleted by an administrator, its snapshot lives',
    { metadata: deleting, status: ready },
    { do: 'nothing' },
  ],
  ['deleted by an administrator before it was made', { metadata: deleting }, { do: 'create' }],
  [
    'deleted and without finalizer: nothing would keep it',
    { metadata: { ...deleting, finalizers: [] } },
    { do: 'nothing' },
  ],
  ['to go, never asked for', { metadata: deleting, annotations: marked }, { do: 'release' }],
  ['to go, and uncertain', { metadata: deleting, annotations: { ...marked, ...asked } }, { do: 'create' }],
  [
    'to go, its handle known, a repeated call perhaps in flight',
    {
      metadata: deleting,
      annotations: { ...marked, [ANN_SNAPSHOT_PARAMETERS]: '{}' },
      status: made,
    },
    { do: 'create' },
  ],
  [
    'to go, ready and still recorded',
    { metadata: deleting, annotations: { ...marked, ...asked }, status: ready },
    { do: 'create' },
  ],
  [
    'to go, its handle known, no call in flight',
    { metadata: deleting, annotations: marked, status: made },
    { do: 'delete', handle: 'snap' },
  ],
  ['to go', { metadata: deleting, annotations: marked, status: ready }, { do: 'delete', handle: 'snap' }],
  [
    'to go and to be kept',
    { metadata: deleting, annotations: marked, status: ready, spec: { deletionPolicy: 'Retain' } },
    { do: 'release' },
  ],
  [
    'to go, there first, never looked at',
    { metadata: deleting, annotations: marked, spec: prepared },
    { do: 'delete', handle: 'old' },
  ],
  [
    'to go, deleted already, kept by others',
    { metadata: { ...deleting, finalizers: ['theirs'] }, annotations: marked, spec: prepared },
    { do: 'nothing' },
  ],
  [
    'there first, never bound, deleted',
    { metadata: deleting, spec: { ...prepared, ...unbound } },
    { do: 'delete', handle: 'old' },
  ],
  ['of a group, without handle', { annotations: { [ANN_GROUP_SNAPSHOT_HANDLE]: 'g' } }, { do: 'nothing' }],
  [
    'of a group',
    { annotations: { [ANN_GROUP_SNAPSHOT_HANDLE]: 'g' }, status: made },
    { do: 'look', handle: 'snap' },
  ],
  [
    'of a group, to go',
    { metadata: deleting, annotations: { ...marked, [ANN_GROUP_SNAPSHOT_HANDLE]: 'g' }, status: ready },
    { do: 'release' },
  ],
];

for (const [name, change, wanted] of table) {
  test(`a content ${name}`, () => {
    const facts = snapshotContentFacts(content(change), {
      driver: parseDriverName('d'),
      classDriver: undefined,
    });
    const { why: _why, ...decision } = decideContent(facts) as { why?: string; do: string };
    assert.deepEqual(decision, wanted);
  });
}

test('a content whose class is of another driver is left alone', () => {
  const facts = snapshotContentFacts(content(), { driver: parseDriverName('d'), classDriver: 'e' });
  assert.equal(decideContent(facts).do, 'nothing');
});

test('names contain as many characters of the UID as configured', () => {
  const uid = '12345678-9abc-4def-8123-456789abcdef';
  assert.equal(snapshotNameFor(uid, { prefix: 'p', uuidLength: -1 }), `p-${uid}`);
  assert.equal(snapshotNameFor(uid, { prefix: 'p', uuidLength: 10 }), 'p-123456789a');
});

test('recorded parameters are used only where they can be read', () => {
  assert.deepEqual(recordedParameters(parametersRecord({ a: 'then' }, 'x')), { a: 'then' });
  for (const text of [undefined, 'not json', 'null', '[]', '{"parameters":{"a":1}}'])
    assert.equal(recordedParameters(text), undefined);
});

test('what is in the status stays, and an error goes with success', () => {
  const snapshot = { handle: 'snap' as SnapshotHandle, ready: true, createdNs: undefined, sizeBytes: 5n };
  assert.deepEqual(statusPatch(content(), snapshot, 7), {
    snapshotHandle: 'snap',
    readyToUse: true,
    creationTime: 7_000_000,
    restoreSize: 5,
  });
  const status = { ...made, creationTime: 1, restoreSize: 4, error: { message: 'x' } };
  assert.deepEqual(statusPatch(content({ status }), snapshot, 7), { readyToUse: true, error: null });
  assert.equal(
    statusPatch(content({ status: { ...ready, creationTime: 1, restoreSize: 4 } }), snapshot, 7),
    undefined,
  );
});
