import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PersistentVolumeClaim, ReferenceGrant } from './kinds.ts';
import { isGranted } from './reference-grants.ts';

const SNAPSHOTS = 'snapshot.storage.k8s.io';
const claim = (dataSourceRef: object): PersistentVolumeClaim =>
  ({
    metadata: { name: 'new', namespace: 'here' },
    spec: { dataSourceRef },
  }) as unknown as PersistentVolumeClaim;
const snapshot = { apiGroup: SNAPSHOTS, kind: 'VolumeSnapshot', name: 's', namespace: 'there' };
const volume = { kind: 'PersistentVolumeClaim', name: 'c', namespace: 'there' };

const from = { group: '', kind: 'PersistentVolumeClaim', namespace: 'here' };
const to = { group: SNAPSHOTS, kind: 'VolumeSnapshot' };
const grant = (spec: Partial<ReferenceGrant['spec']> = {}, namespace = 'there'): ReferenceGrant =>
  ({ metadata: { name: 'g', namespace }, spec: { from: [from], to: [to], ...spec } }) as ReferenceGrant;

const cases: { name: string; source?: object; grants: ReferenceGrant[]; then: boolean }[] = [
  { name: 'none', grants: [], then: false },
  { name: 'every snapshot', grants: [grant()], then: true },
  { name: 'an empty name is every name', grants: [grant({ to: [{ ...to, name: '' }] })], then: true },
  { name: 'this snapshot', grants: [grant({ to: [{ ...to, name: 's' }] })], then: true },
  { name: 'another snapshot', grants: [grant({ to: [{ ...to, name: 'x' }] })], then: false },
  { name: 'in another namespace', grants: [grant({}, 'elsewhere')], then: false },
  { name: "in the claim's namespace", grants: [grant({}, 'here')], then: false },
  { name: 'from another namespace', grants: [grant({ from: [{ ...from, namespace: 'x' }] })], then: false },
  { name: 'from another kind', grants: [grant({ from: [{ ...from, kind: 'HTTPRoute' }] })], then: false },
  { name: 'from another group', grants: [grant({ from: [{ ...from, group: 'x' }] })], then: false },
  { name: 'to another group', grants: [grant({ to: [{ ...to, group: '' }] })], then: false },
  {
    name: 'both halves, in two grants',
    grants: [
      grant({ from: [{ ...from, namespace: 'x' }] }),
      grant({ to: [{ group: '', kind: 'PersistentVolumeClaim' }] }),
    ],
    then: false,
  },
  {
    name: 'the second of several',
    grants: [grant({ from: [{ ...from, namespace: 'x' }, from], to: [{ ...to, name: 'x' }, to] })],
    then: true,
  },
  {
    name: 'a claim as the source',
    source: volume,
    grants: [grant({ to: [{ group: '', kind: 'PersistentVolumeClaim' }] })],
    then: true,
  },
  {
    name: 'a claim whose group is null',
    source: { ...volume, apiGroup: null },
    grants: [grant({ to: [{ group: '', kind: 'PersistentVolumeClaim' }] })],
    then: true,
  },
];

describe('[POP-2] a ReferenceGrant allows a source:', () => {
  for (const { name, source = snapshot, grants, then } of cases) {
    test(name, () => assert.equal(isGranted(claim(source), grants), then));
  }
});
