import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeSnapshot, VolumeSnapshotContent } from '../../api/kinds.ts';
import { failureChange, type StatusChange, statusChange } from './snapshot-status.ts';

const CUT_AT = '2026-01-01T00:00:00Z';
const CUT_AT_NS = Date.parse(CUT_AT) * 1e6;
const error = { time: CUT_AT, message: 'no space' };

const snapshot = (status?: VolumeSnapshot['status']) =>
  ({ metadata: { name: 's' }, ...(status && { status }) }) as VolumeSnapshot;
const content = (status?: VolumeSnapshotContent['status']) =>
  ({ metadata: { name: 'c' }, ...(status && { status }) }) as VolumeSnapshotContent;

const bound = { boundVolumeSnapshotContentName: 'c', readyToUse: false };
const ready = { ...bound, creationTime: CUT_AT, restoreSize: '1Gi', readyToUse: true };

const table: {
  name: string;
  snapshot?: VolumeSnapshot['status'];
  content?: VolumeSnapshotContent['status'];
  then: StatusChange | undefined;
}[] = [
  {
    name: 'a content without status: bound, and not ready',
    then: { patch: bound, isCut: false, isReady: false },
  },
  { name: 'nothing has changed', snapshot: bound, content: { readyToUse: false }, then: undefined },
  {
    name: 'the snapshot is cut, and not yet ready',
    snapshot: bound,
    content: { creationTime: CUT_AT_NS, restoreSize: 1 << 30, readyToUse: false },
    then: { patch: { creationTime: CUT_AT, restoreSize: '1Gi' }, isCut: true, isReady: false },
  },
  {
    name: 'cut before, ready now',
    snapshot: { ...ready, readyToUse: false },
    content: { creationTime: CUT_AT_NS, restoreSize: 1 << 30, readyToUse: true },
    then: { patch: { readyToUse: true }, isCut: false, isReady: true },
  },
  {
    name: 'time and size are written once',
    snapshot: ready,
    content: { creationTime: CUT_AT_NS + 1e12, restoreSize: 2 << 30, readyToUse: true },
    then: undefined,
  },
  {
    name: 'an unknown size is shown as 0',
    snapshot: { ...bound, creationTime: CUT_AT },
    content: { restoreSize: 0 },
    then: { patch: { restoreSize: '0' }, isCut: false, isReady: false },
  },
  {
    name: 'and stays 0',
    snapshot: { ...ready, restoreSize: '0' },
    content: { readyToUse: true, restoreSize: 0 },
    then: undefined,
  },
  {
    name: 'until it is known',
    snapshot: { ...ready, restoreSize: '0' },
    content: { readyToUse: true, restoreSize: 5 },
    then: { patch: { restoreSize: '5' }, isCut: false, isReady: false },
  },
  {
    name: 'no size is invented',
    snapshot: { ...ready, restoreSize: '0' },
    content: { readyToUse: true },
    then: undefined,
  },
  {
    name: 'an error of the content is passed on',
    snapshot: bound,
    content: { error },
    then: { patch: { error }, isCut: false, isReady: false },
  },
  { name: 'once', snapshot: { ...bound, error }, content: { error }, then: undefined },
  {
    name: 'and removed when it is over',
    snapshot: { ...ready, error },
    content: { readyToUse: true },
    then: { patch: { error: null }, isCut: false, isReady: false },
  },
];
for (const { name, then, ...given } of table) {
  test(`the status of a snapshot: ${name}`, () => {
    assert.deepEqual(statusChange(snapshot(given.snapshot), content(given.content)), then);
  });
}

const failures: {
  name: string;
  status?: VolumeSnapshot['status'];
  unready: boolean;
  then: object | undefined;
}[] = [
  { name: 'is written', unready: false, then: { error } },
  { name: 'makes a snapshot unready that cannot be used', unready: true, then: { readyToUse: false, error } },
  { name: 'leaves a ready snapshot ready', status: { readyToUse: true }, unready: false, then: { error } },
  { name: 'is written once', status: { error: { message: 'no space' } }, unready: false, then: undefined },
  {
    name: 'is written once for an unready snapshot',
    status: { readyToUse: false, error: { message: 'no space' } },
    unready: true,
    then: undefined,
  },
  {
    name: 'makes it unready though its text is there already',
    status: { readyToUse: true, error: { message: 'no space' } },
    unready: true,
    then: { readyToUse: false, error },
  },
  { name: 'replaces another', status: { error: { message: 'other' } }, unready: false, then: { error } },
];
for (const { name, status, unready, then } of failures) {
  test(`a failure ${name}`, () => {
    const found = failureChange(snapshot(status), { message: 'no space', unready }, Date.parse(CUT_AT));
    assert.deepEqual(found, then);
  });
}
