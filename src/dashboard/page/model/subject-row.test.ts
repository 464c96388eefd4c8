// The row of the object that a route names.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeRow } from '../../page-messages.ts';
import { emptyModel, type KeyedTables } from './model.ts';
import type { Subject } from './routes.ts';
import { rowOf } from './subject-row.ts';

const volumes = [
  { id: 'claim ns/data', subject: 'claim', namespace: 'ns', name: 'data', volume: 'pv-1' },
  { id: 'claim other/data', subject: 'claim', namespace: 'other', name: 'data' },
  { id: 'volume pv-2', subject: 'volume', name: 'pv-2' },
] as unknown as VolumeRow[];
const byId = <R>(...ids: string[]): ReadonlyMap<string, R> => new Map(ids.map((id) => [id, { id } as R]));
const tables: KeyedTables = {
  ...emptyModel.tables,
  volumes: new Map(volumes.map((row) => [row.id, row])),
  pods: byId('ns/web'),
  snapshots: byId('ns/s'),
  groups: byId('ns/g'),
  nodes: byId('n1'),
  drivers: byId('d.test'),
  classes: byId('fast'),
};

const cases: { name: string; subject: Subject; id: string | undefined }[] = [
  { name: 'a claim', subject: { kind: 'claim', namespace: 'ns', name: 'data' }, id: 'claim ns/data' },
  {
    name: 'a claim of that name elsewhere',
    subject: { kind: 'claim', namespace: 'other', name: 'data' },
    id: 'claim other/data',
  },
  { name: "a claim's volume", subject: { kind: 'volume', name: 'pv-1' }, id: 'claim ns/data' },
  { name: 'a free volume', subject: { kind: 'volume', name: 'pv-2' }, id: 'volume pv-2' },
  {
    name: 'no volume, though a claim is called so',
    subject: { kind: 'volume', name: 'data' },
    id: undefined,
  },
  { name: 'a pod', subject: { kind: 'pod', namespace: 'ns', name: 'web' }, id: 'ns/web' },
  { name: 'a snapshot', subject: { kind: 'snapshot', namespace: 'ns', name: 's' }, id: 'ns/s' },
  { name: 'a group', subject: { kind: 'group', namespace: 'ns', name: 'g' }, id: 'ns/g' },
  { name: 'a node', subject: { kind: 'node', name: 'n1' }, id: 'n1' },
  { name: 'a driver', subject: { kind: 'driver', name: 'd.test' }, id: 'd.test' },
  { name: 'a class', subject: { kind: 'class', name: 'fast' }, id: 'fast' },
  { name: 'a pod that is gone', subject: { kind: 'pod', namespace: 'ns', name: 'gone' }, id: undefined },
];
for (const { name, subject, id } of cases) {
  test(`the row of ${name}`, () => assert.equal(rowOf(tables, subject)?.row.id, id));
}
