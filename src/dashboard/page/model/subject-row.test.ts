// The row of the object that a route names.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodRow, VolumeRow } from '../../page-messages.ts';
import { emptyModel } from './model.ts';
import type { Subject } from './routes.ts';
import { rowOf } from './subject-row.ts';

const volumes = [
  { id: 'claim', subject: 'claim', namespace: 'ns', name: 'data', volume: 'pv-1' },
  { id: 'other', subject: 'claim', namespace: 'other', name: 'data' },
  { id: 'free', subject: 'volume', name: 'pv-2' },
] as unknown as VolumeRow[];
const pods = [{ id: 'pod', namespace: 'ns', name: 'web' }] as unknown as PodRow[];
const tables = {
  ...emptyModel.tables,
  volumes: new Map(volumes.map((row) => [row.id, row])),
  pods: new Map(pods.map((row) => [row.id, row])),
};

const cases: { name: string; subject: Subject; id: string | undefined }[] = [
  { name: 'a claim', subject: { kind: 'claim', namespace: 'ns', name: 'data' }, id: 'claim' },
  {
    name: 'a claim of that name elsewhere',
    subject: { kind: 'claim', namespace: 'other', name: 'data' },
    id: 'other',
  },
  { name: "a claim's volume", subject: { kind: 'volume', name: 'pv-1' }, id: 'claim' },
  { name: 'a free volume', subject: { kind: 'volume', name: 'pv-2' }, id: 'free' },
  {
    name: 'no volume, though a claim is called so',
    subject: { kind: 'volume', name: 'data' },
    id: undefined,
  },
  { name: 'a pod', subject: { kind: 'pod', namespace: 'ns', name: 'web' }, id: 'pod' },
  { name: 'a pod that is gone', subject: { kind: 'pod', namespace: 'ns', name: 'gone' }, id: undefined },
];
for (const { name, subject, id } of cases) {
  test(`the row of ${name}`, () => assert.equal(rowOf(tables, subject)?.id, id));
}
