import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, PersistentVolume, PersistentVolumeClaim } from '../../api/kinds.ts';
import { matchVolume, mismatch } from './match-volume.ts';

const stamp = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };

function pv(
  name: string,
  change: Partial<PersistentVolume['spec']> = {},
  phase = 'Available',
): PersistentVolume {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { ...stamp, name, labels: { tier: name } },
    spec: {
      capacity: { storage: '5Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'fast',
      ...change,
    },
    status: { phase },
  };
}

function pvc(change: Partial<PersistentVolumeClaim['spec']> = {}): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...stamp, uid: 'claim-uid', name: 'data', namespace: 'ns' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'fast',
      resources: { requests: { storage: '3Gi' } },
      ...change,
    },
  };
}

const reserved = { claimRef: { name: 'data', namespace: 'ns' } };

const inZone = (zone: string) => ({
  nodeAffinity: {
    required: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [zone] }] }],
    },
  },
});
const nodeIn = (zone: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { ...stamp, name: 'n', labels: { zone } },
});

test('the volume a claim should have', () => {
  const table: {
    name: string;
    claim?: PersistentVolumeClaim;
    volumes: PersistentVolume[];
    node?: Node;
    expected: string | undefined;
  }[] = [
    {
      name: 'the smallest that fits',
      volumes: [
        pv('big', { capacity: { storage: '9Gi' } }),
        pv('fit', { capacity: { storage: '3Gi' } }),
        pv('tiny', { capacity: { storage: '1Gi' } }),
      ],
      expected: 'fit',
    },
    {
      name: 'fewest access modes before smallest: a shared volume is not spent on a claim of one node',
      volumes: [
        pv('shared', {
          capacity: { storage: '3Gi' },
          accessModes: ['ReadWriteOnce', 'ReadWriteMany'],
        }),
        pv('plain', { capacity: { storage: '9Gi' } }),
        pv('fit', { capacity: { storage: '4Gi' } }),
      ],
      expected: 'fit',
    },
    {
      name: 'a mode given twice counts once',
      volumes: [
        pv('big', { capacity: { storage: '9Gi' } }),
        pv('twice', { capacity: { storage: '4Gi' }, accessModes: ['ReadWriteOnce', 'ReadWriteOnce'] }),
      ],
      expected: 'twice',
    },
    {
      name: 'several reserved for this claim: again the fewest modes, then the smallest',
      volumes: [
        pv('shared', { ...reserved, accessModes: ['ReadWriteOnce', 'ReadWriteMany'] }),
        pv('big', { ...reserved, capacity: { storage: '9Gi' } }),
        pv('mine', reserved),
      ],
      expected: 'mine',
    },
    {
      name: 'reserved for this claim, whatever modes it has besides, before a free one',
      volumes: [pv('free'), pv('mine', { ...reserved, accessModes: ['ReadWriteOnce', 'ReadWriteMany'] })],
      expected: 'mine',
    },
    { name: 'equal sizes: by name', volumes: [pv('b'), pv('a')], expected: 'a' },
    {
      name: 'reserved for this claim wins over a smaller one',
      volumes: [
        pv('small', { capacity: { storage: '3Gi' } }),
        pv('mine', { claimRef: { name: 'data', namespace: 'ns' } }),
      ],
      expected: 'mine',
    },
    {
      name: 'reserved for this claim, of whatever class',
      volumes: [pv('mine', { claimRef: { name: 'data', namespace: 'ns' }, storageClassName: 'slow' })],
      expected: 'mine',
    },
    {
      name: 'reserved for this claim but too small: another will do',
      volumes: [
        pv('mine', { claimRef: { name: 'data', namespace: 'ns' }, capacity: { storage: '1Gi' } }),
        pv('free'),
      ],
      expected: 'free',
    },
    {
      name: 'reserved for an earlier claim of the same name is not ours',
      volumes: [pv('old', { claimRef: { name: 'data', namespace: 'ns', uid: 'other' } })],
      expected: undefined,
    },
    {
      name: 'reserved but on the wrong side of its affinity: no second choice',
      volumes: [pv('mine', { claimRef: { name: 'data', namespace: 'ns' }, ...inZone('b') }), pv('free')],
      node: nodeIn('a'),
      expected: undefined,
    },
    {
      name: 'affinity of a delayed claim',
      volumes: [pv('a', inZone('b')), pv('z', inZone('a'))],
      node: nodeIn('a'),
      expected: 'z',
    },
    {
      name: 'only available ones',
      volumes: [pv('gone', {}, 'Released'), pv('new', {}, 'Pending')],
      expected: undefined,
    },
    {
      name: 'selector',
      claim: pvc({ selector: { matchLabels: { tier: 'b' } } }),
      volumes: [pv('a'), pv('b')],
      expected: 'b',
    },
    {
      name: 'a volume without labels does not match a selector',
      claim: pvc({ selector: { matchLabels: { tier: 'b' } } }),
      volumes: [{ ...pv('a'), metadata: { ...stamp, name: 'a' } }, pv('b')],
      expected: 'b',
    },
    {
      name: 'several reserved for this claim, in any order: the smallest',
      volumes: [pv('mine', reserved), pv('big', { ...reserved, capacity: { storage: '9Gi' } })],
      expected: 'mine',
    },
    {
      name: 'reserved for this claim and not yet seen as available',
      volumes: [pv('mine', reserved, 'Pending')],
      expected: 'mine',
    },
    {
      name: 'a volume without a size is too small',
      volumes: [pv('none', { capacity: {} }), pv('fit')],
      expected: 'fit',
    },
    {
      name: 'a claim that asks for no size, no mode and no class',
      claim: { ...pvc(), spec: {} },
      volumes: [{ ...pv('any'), spec: { capacity: { storage: '1Gi' } } }, pv('fast')],
      expected: 'any',
    },
    {
      name: 'no class is a class of its own',
      claim: pvc({ storageClassName: '' }),
      volumes: [pv('a')],
      expected: undefined,
    },
  ];
  for (const { name, claim, volumes, node, expected } of table) {
    assert.equal(matchVolume(claim ?? pvc(), volumes, node)?.metadata.name, expected, name);
  }
});

test('why a volume cannot serve a claim', () => {
  const table: [PersistentVolume, PersistentVolumeClaim, string | undefined][] = [
    [pv('a'), pvc(), undefined],
    [pv('a', { capacity: { storage: '1Gi' } }), pvc(), 'requested PV is too small'],
    [pv('a', { storageClassName: 'slow' }), pvc(), 'storageClassName does not match'],
    [pv('a', { volumeMode: 'Block' }), pvc(), 'incompatible volumeMode'],
    [pv('a'), pvc({ accessModes: ['ReadWriteMany'] }), 'incompatible accessMode'],
    [pv('a', { volumeAttributesClassName: 'gold' }), pvc(), 'incompatible volumeAttributesClassName'],
  ];
  for (const [volume, claim, why] of table) assert.equal(mismatch(volume, claim), why);
});
