import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeGroupSnapshot, VolumeGroupSnapshotContent, VolumeSnapshot } from '../../api/kinds.ts';
import { groupStatusChange } from './group-status.ts';

const group = (status?: object): VolumeGroupSnapshot =>
  ({ metadata: { name: 'g', namespace: 'ns', uid: 'uid-g' }, spec: {}, ...(status && { status }) }) as never;
const content = (status?: object): VolumeGroupSnapshotContent =>
  ({ metadata: { name: 'gc' }, spec: {}, ...(status && { status }) }) as never;
const member = (readyToUse?: boolean): VolumeSnapshot =>
  ({ metadata: { name: 's', namespace: 'ns', uid: 'uid-s' }, spec: {}, status: { readyToUse } }) as never;

const bound = { boundVolumeGroupSnapshotContentName: 'gc', readyToUse: false };
const done = { ...bound, readyToUse: true, creationTime: 't' };
const cut = { readyToUse: true, creationTime: 't' };
const error = { message: 'm', time: 't' };
type Found = { patch: object; isCut: boolean; isReady: boolean } | undefined;
const rows: [string, object | undefined, object | undefined, VolumeSnapshot[], Found][] = [
  [
    'a new group is bound and not ready',
    undefined,
    undefined,
    [],
    { patch: bound, isCut: false, isReady: false },
  ],
  [
    'a group without members is ready with its content',
    bound,
    cut,
    [],
    { patch: cut, isCut: true, isReady: true },
  ],
  [
    'a group with ready members is ready',
    bound,
    cut,
    [member(true)],
    { patch: cut, isCut: true, isReady: true },
  ],
  [
    'a group waits for each member',
    bound,
    cut,
    [member(true), member(false)],
    { patch: { creationTime: 't' }, isCut: true, isReady: false },
  ],
  [
    'a group waits for its content',
    bound,
    { creationTime: 't' },
    [member(true)],
    { patch: { creationTime: 't' }, isCut: true, isReady: false },
  ],
  [
    'a group that is cut becomes ready',
    { ...bound, creationTime: 't' },
    cut,
    [],
    { patch: { readyToUse: true }, isCut: false, isReady: true },
  ],
  ['nothing changes', done, cut, [member(true)], undefined],
  ['a creation time stays', done, { ...cut, creationTime: 'other' }, [], undefined],
  [
    'a group is not ready any more',
    done,
    { creationTime: 't' },
    [],
    { patch: { readyToUse: false }, isCut: false, isReady: false },
  ],
  ['an error is shown', bound, { error }, [], { patch: { error }, isCut: false, isReady: false }],
  ['an error is over', { ...bound, error }, {}, [], { patch: { error: null }, isCut: false, isReady: false }],
  ['an error stays', { ...bound, error }, { error }, [], undefined],
];
for (const [name, status, from, members, expected] of rows)
  test(`the status of a group snapshot: ${name}`, () => {
    assert.deepEqual(groupStatusChange(group(status), content(from), members), expected);
  });
