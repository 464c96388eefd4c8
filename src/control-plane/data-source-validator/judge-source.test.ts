import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeClaim, VolumePopulator } from '../../api/kinds.ts';
import { judgeSource } from './judge-source.ts';

const claimFrom = (dataSourceRef?: object) =>
  ({ spec: { dataSourceRef } }) as unknown as PersistentVolumeClaim;
const populator = { sourceKind: { group: 'backup.example', kind: 'Backup' } } as VolumePopulator;

for (const [name, source, wanted] of [
  ['without a source', undefined, 'empty'],
  ['from a claim', { kind: 'PersistentVolumeClaim', name: 'a' }, 'pvc'],
  ['from a snapshot', { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'a' }, 'snapshot'],
  ['from a kind with a populator', { apiGroup: 'backup.example', kind: 'Backup', name: 'a' }, 'populator'],
  ['from a kind without one', { apiGroup: 'other.example', kind: 'Backup', name: 'a' }, 'invalid'],
  [
    'from a snapshot of the wrong group',
    { apiGroup: 'storage.k8s.io', kind: 'VolumeSnapshot', name: 'a' },
    'invalid',
  ],
  ['from a claim of a group', { apiGroup: 'v1', kind: 'PersistentVolumeClaim', name: 'a' }, 'invalid'],
] as const) {
  test(`[POP-1] the source of a claim ${name} is ${wanted}`, () => {
    assert.equal(judgeSource(claimFrom(source), [populator]), wanted);
  });
}
