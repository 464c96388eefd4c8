// The patches of a content's status, of snapshots and of group snapshots.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeGroupSnapshotContent, VolumeSnapshotContent } from '../../api/kinds.ts';
import type { GroupSnapshotHandle, SnapshotHandle } from '../../csi/names/driver-name.ts';
import { errorPatch } from './content-error.ts';
import { type SnapshotFacts, statusPatch } from './content-status.ts';
import { type GroupFacts, groupStatusPatch } from './group-content-status.ts';
import { SnapshotProblem } from './snapshot-problem.ts';

const NOW_MS = Date.parse('2026-01-02T03:04:05.678Z');
const snap: SnapshotFacts = {
  handle: 'snap' as SnapshotHandle,
  ready: true,
  createdNs: 3n,
  sizeBytes: 5n,
  groupHandle: 'group' as GroupSnapshotHandle,
};
const snapped = {
  snapshotHandle: 'snap',
  readyToUse: true,
  creationTime: 3,
  restoreSize: 5,
  volumeGroupSnapshotHandle: 'group',
};
const withStatus = <T>(status: object | undefined, spec: object = { source: {} }): T =>
  ({ metadata: { name: 'c' }, spec, ...(status && { status }) }) as T;

const snapshots: [string, object | undefined, Partial<SnapshotFacts>, object | undefined][] = [
  ['a first response is recorded whole', undefined, {}, snapped],
  [
    'a response without time is dated now',
    undefined,
    { createdNs: undefined },
    { ...snapped, creationTime: NOW_MS * 1e6 },
  ],
  ['the same response changes nothing', snapped, {}, undefined],
  ['a snapshot that became ready', { ...snapped, readyToUse: false }, {}, { readyToUse: true }],
  ['a snapshot that is not ready any more', snapped, { ready: false }, { readyToUse: false }],
  ['an error ends with success', { ...snapped, error: { message: 'x' } }, {}, { error: null }],
  ['another size and time are ignored', snapped, { sizeBytes: 6n, createdNs: 4n }, undefined],
  ['another group is ignored', snapped, { groupHandle: 'other' as GroupSnapshotHandle }, undefined],
];
for (const [name, status, change, expected] of snapshots) {
  test(`[SIDE-2] status of a snapshot: ${name}`, () => {
    const patch = statusPatch(withStatus<VolumeSnapshotContent>(status), { ...snap, ...change }, NOW_MS);
    assert.deepEqual(patch, expected);
  });
}

test('[SIDE-2] a size of zero is no size, and a snapshot of no group has no group', () => {
  const { groupHandle: _, ...alone } = snap;
  const patch = statusPatch(
    withStatus<VolumeSnapshotContent>(undefined),
    { ...alone, sizeBytes: 0n },
    NOW_MS,
  );
  assert.deepEqual(patch, { snapshotHandle: 'snap', readyToUse: true, creationTime: 3 });
});

const member = { volumeHandle: 'v', snapshotHandle: 's', readyToUse: true };
const group: GroupFacts = {
  handle: 'group' as GroupSnapshotHandle,
  ready: true,
  createdMs: 1000,
  members: [member],
};
const grouped = {
  volumeGroupSnapshotHandle: 'group',
  readyToUse: true,
  creationTime: '1970-01-01T00:00:01Z',
  volumeSnapshotInfoList: [member],
};
const given = { source: { groupSnapshotHandles: { volumeGroupSnapshotHandle: 'group' } } };
const { volumeSnapshotInfoList: _members, ...withoutMembers } = grouped;

const groups: [string, object | undefined, Partial<GroupFacts>, object | undefined, object?][] = [
  ['a first response is recorded whole', undefined, {}, grouped],
  [
    'a response without time is dated now',
    undefined,
    { createdMs: undefined },
    { ...grouped, creationTime: '2026-01-02T03:04:05Z' },
  ],
  ['the same response changes nothing', grouped, {}, undefined],
  ['a group that became ready', { ...grouped, readyToUse: false }, {}, { readyToUse: true }],
  ['another member', grouped, { members: [member, member] }, { volumeSnapshotInfoList: [member, member] }],
  ['an error ends with success', { ...grouped, error: { message: 'x' } }, {}, { error: null }],
  ['another time is ignored', grouped, { createdMs: 2000 }, undefined],
  ['members of a pre-provisioned group are the user’s', undefined, {}, withoutMembers, given],
];
for (const [name, status, change, expected, spec] of groups) {
  test(`[GRP-1] status of a group snapshot: ${name}`, () => {
    const content = withStatus<VolumeGroupSnapshotContent>(status, spec);
    assert.deepEqual(groupStatusPatch(content, { ...group, ...change }, NOW_MS), expected);
  });
}

test('[SIDE-2] a recorded handle is kept when the driver returns another', () => {
  assert.throws(
    () => statusPatch(withStatus({ snapshotHandle: 'old' }), snap, NOW_MS),
    new SnapshotProblem('the driver now returns snapshot snap; the recorded old is kept'),
  );
  assert.throws(
    () => groupStatusPatch(withStatus({ volumeGroupSnapshotHandle: 'old' }), group, NOW_MS),
    new SnapshotProblem('the driver now returns group snapshot group; the recorded old is kept'),
  );
});

const time = '2026-01-02T03:04:05Z';
const long = 'x'.repeat(4096);
const errors: [string, object | undefined, string, object | undefined][] = [
  ['the first', undefined, 'no', { readyToUse: false, error: { time, message: 'no' } }],
  ['the same again', { readyToUse: false, error: { message: 'no' } }, 'no', undefined],
  [
    'another',
    { readyToUse: false, error: { message: 'yes' } },
    'no',
    { readyToUse: false, error: { time, message: 'no' } },
  ],
  [
    'of a deletion: still usable',
    { readyToUse: true },
    'no',
    { readyToUse: true, error: { time, message: 'no' } },
  ],
  [
    'without readiness',
    { error: { message: 'no' } },
    'no',
    { readyToUse: false, error: { time, message: 'no' } },
  ],
  ['as long as allowed', undefined, long, { readyToUse: false, error: { time, message: long } }],
  ['too long', undefined, `${long}y`, { readyToUse: false, error: { time, message: `${long} […]` } }],
];
for (const [name, status, message, expected] of errors) {
  test(`error in a content's status: ${name}`, () => {
    assert.deepEqual(errorPatch(withStatus(status), message, NOW_MS), expected);
  });
}
