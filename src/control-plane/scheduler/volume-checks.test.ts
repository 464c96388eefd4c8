import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  CSIDriver,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../api/kinds.ts';
import { parseDriverName } from '../../csi/names/driver-name.ts';
import { findNode } from './find-node.ts';
import { podDemand } from './node-checks.ts';
import { NodeIndex } from './node-index.ts';
import { NodeInfo } from './node-info.ts';
import type { CountedVolume, DelayedClaim, PodVolumes } from './pod-volumes.ts';
import { checkVolumes, type VolumeFacts } from './volume-checks.ts';

const stamp = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
const DRIVER = parseDriverName('driver.example');

function nodeInfo(name: string, labels: Record<string, string> = {}): NodeInfo {
  const info = new NodeInfo(name);
  info.node = { apiVersion: 'v1', kind: 'Node', metadata: { ...stamp, name, labels } } as Node;
  return info;
}

function volume(name: string, zone?: string, size = '1Gi'): PersistentVolume {
  const expressions = [{ key: 'zone', operator: 'In', values: [zone ?? ''] }];
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { ...stamp, name },
    spec: {
      capacity: { storage: size },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'late',
      csi: { driver: DRIVER, volumeHandle: name },
      ...(zone && { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: expressions }] } } }),
    },
    status: { phase: 'Available' },
  };
}

function delayed(
  name: string,
  change: Partial<DelayedClaim> & { provisioner?: string; zones?: string[] } = {},
) {
  const { provisioner = DRIVER, zones, ...rest } = change;
  const claim: PersistentVolumeClaim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...stamp, name, namespace: 'ns' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'late',
      resources: { requests: { storage: '1Gi' } },
    },
  };
  const storageClass = { metadata: { ...stamp, name: 'late' }, provisioner } as StorageClass;
  const allowed = zones ? [{ matchExpressions: [{ key: 'zone', operator: 'In', values: zones }] }] : [];
  const known: DelayedClaim = {
    key: `ns/${name}`,
    claim,
    storageClass,
    sizeBytes: 1n << 30n,
    allowed,
    selectedNode: undefined,
  };
  return { ...known, ...rest };
}

function podVolumes(change: Partial<PodVolumes> = {}): PodVolumes {
  const { existing = [], delayed: late = [] } = change;
  const ids = [...existing.map(({ metadata }) => metadata.name), ...late.map(({ key }) => key)];
  return {
    existing,
    delayed: late,
    volumeGone: false,
    allBound: late.length === 0,
    byDriver: new Map(ids.length > 0 ? [[DRIVER, new Set(ids as CountedVolume[])]] : []),
    exclusiveClaims: [],
    ...change,
  };
}

interface World {
  free?: PersistentVolume[];
  driver?: CSIDriver['spec'] & { preventPodSchedulingIfMissing?: boolean };
  installed?: { topologyKeys: string[] } | undefined;
  room?: boolean;
  limit?: number;
  there?: string[];
}

function facts(world: World): VolumeFacts {
  const { free = [], driver, room = true, limit, there = [] } = world;
  const installed = 'installed' in world ? world.installed : { topologyKeys: [] };
  return {
    freeVolumes: () => free,
    publishesCapacity: () => driver?.storageCapacity === true,
    roomFor: () => (room ? 100n : undefined),
    isCsiDriver: () => driver !== undefined,
    mustBeInstalled: () => driver?.preventPodSchedulingIfMissing === true,
    driverOn: () => installed && { nodeId: 'id', ...installed },
    volumeLimit: () => limit,
    volumesOn: () => new Map([[DRIVER, new Set(there as CountedVolume[])]]),
  };
}

test('whether a node can have the volumes of a pod, and what is then to be done', () => {
  const inA = nodeInfo('n', { zone: 'a' });
  const noVolume = "node(s) didn't find available persistent volumes to bind";
  const affinity = "node(s) didn't match PersistentVolume's node affinity";
  const full = 'node(s) exceed max volume count';
  const bound = (...volumes: PersistentVolume[]) => podVolumes({ existing: volumes });
  const late = (...claims: DelayedClaim[]) => podVolumes({ delayed: claims });
  const table: [
    string,
    PodVolumes,
    World,
    { reasons: string[] } | { matches?: string[]; provisions?: string[] },
  ][] = [
    ['no volumes', podVolumes(), {}, {}],
    ['bound, reachable', bound(volume('v', 'a')), {}, {}],
    ['bound, reachable from anywhere', bound(volume('v')), {}, {}],
    ['bound, elsewhere', bound(volume('v', 'a'), volume('w', 'b')), {}, { reasons: [affinity] }],
    [
      'bound to nothing',
      podVolumes({ volumeGone: true }),
      {},
      { reasons: ['node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)'] },
    ],
    ['to be made', late(delayed('d')), {}, { provisions: ['ns/d'] }],
    [
      'to be made in an allowed zone',
      late(delayed('d', { zones: ['b', 'a'] })),
      {},
      { provisions: ['ns/d'] },
    ],
    ['to be made elsewhere', late(delayed('d', { zones: ['b'] })), {}, { reasons: [noVolume] }],
    [
      'to be made by hand',
      late(delayed('d', { provisioner: 'kubernetes.io/no-provisioner' })),
      {},
      { reasons: [noVolume] },
    ],
    ['being made here', late(delayed('d', { selectedNode: 'n' })), {}, { provisions: ['ns/d'] }],
    [
      'being made for another node',
      late(delayed('d', { selectedNode: 'm' })),
      { free: [volume('v')] },
      { reasons: [noVolume] },
    ],
    ['one exists', late(delayed('d')), { free: [volume('v', 'a')] }, { matches: ['ns/d=v'] }],
    ['one exists elsewhere', late(delayed('d')), { free: [volume('v', 'b')] }, { provisions: ['ns/d'] }],
    [
      'one exists for two',
      late(delayed('d'), delayed('e')),
      { free: [volume('v', 'a')] },
      { matches: ['ns/d=v'], provisions: ['ns/e'] },
    ],
    [
      'no room is published',
      late(delayed('d')),
      { driver: { storageCapacity: true }, room: false },
      { reasons: ['node(s) did not have enough free storage'] },
    ],
    [
      'no room, and the driver does not want it to matter',
      late(delayed('d')),
      { driver: {}, room: false },
      { provisions: ['ns/d'] },
    ],
    [
      'no room left while it is being made here',
      late(delayed('d', { selectedNode: 'n' })),
      { driver: { storageCapacity: true }, room: false },
      { provisions: ['ns/d'] },
    ],
    [
      'the driver does not run here',
      late(delayed('d')),
      { driver: {}, installed: undefined },
      { reasons: [`${DRIVER} CSI driver is not installed on the node`] },
    ],
    [
      'what provisions is no CSI driver',
      late(delayed('d')),
      { installed: undefined },
      { provisions: ['ns/d'] },
    ],
    [
      'the node lacks labels of the driver',
      late(delayed('d')),
      { driver: {}, installed: { topologyKeys: ['zone', 'rack'] } },
      { reasons: [`node(s) did not carry the topology labels of CSI driver ${DRIVER} yet`] },
    ],
    [
      'the driver does not run here, for a volume that exists',
      bound(volume('v')),
      { driver: {}, installed: undefined },
      {},
    ],
    [
      'the same, and the driver asks to be waited for',
      bound(volume('v')),
      { driver: { preventPodSchedulingIfMissing: true }, installed: undefined },
      { reasons: [`${DRIVER} CSI driver is not installed on the node`] },
    ],
    ['the last place', bound(volume('v')), { limit: 2, there: ['x'] }, {}],
    ['no place left', bound(volume('v')), { limit: 2, there: ['x', 'y'] }, { reasons: [full] }],
    ['no place left, but it is there already', bound(volume('v')), { limit: 2, there: ['x', 'v'] }, {}],
    ['over the limit already, and nothing new', bound(volume('v')), { limit: 1, there: ['x', 'v'] }, {}],
    ['one place for two', late(delayed('d'), delayed('e')), { limit: 2, there: ['x'] }, { reasons: [full] }],
    ['a limit of none', bound(volume('v')), { limit: 0 }, { reasons: [full] }],
    [
      'several reasons',
      { ...late(delayed('d', { zones: ['b'] })), existing: [volume('v', 'b')] },
      {},
      { reasons: [affinity, noVolume] },
    ],
  ];
  for (const [name, volumes, world, expected] of table) {
    const found = checkVolumes(volumes, inA, facts(world));
    const shown =
      'reasons' in found
        ? found
        : {
            matches: found.matches.map((each) => `${each.claim.key}=${each.volume.metadata.name}`),
            provisions: found.provisions.map(({ key }) => key),
          };
    assert.deepEqual(
      shown,
      'reasons' in expected ? expected : { matches: [], provisions: [], ...expected },
      name,
    );
  }
});

test('which of the nodes that fit is taken', () => {
  const index = new NodeIndex();
  const infos = ['a', 'b', 'c'].map((zone) => nodeInfo(`node-${zone}`, { zone }));
  for (const info of infos) index.put(info, undefined, info.node);
  const pod = (name: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...stamp, name, namespace: 'ns' },
    spec: { containers: [] },
  });
  infos[0]?.add('ns/x', pod('x'));
  infos[1]?.add('ns/y', pod('y'));
  const search = {
    demand: podDemand(pod('p')),
    volumes: podVolumes(),
    index,
    facts: facts({}),
    exclusiveClash: false,
    earlier: undefined,
    avoid: new Set<string>(),
    start: 0,
  };
  const byStart = [0, 1, 2, 7].map((start) => findNode({ ...search, start }).node?.name);
  assert.deepEqual(byStart, ['node-c', 'node-c', 'node-c', 'node-c'], 'the least loaded');
  assert.equal(findNode({ ...search, earlier: infos[0] }).node?.name, 'node-a', 'where it was to go before');
  const avoid = new Set(['node-c']);
  assert.notEqual(findNode({ ...search, avoid }).node?.name, 'node-c');
  assert.equal(
    findNode({ ...search, avoid: new Set(['node-a', 'node-b', 'node-c']) }).node?.name,
    'node-c',
    'better one to be avoided than none',
  );
  const claims = podVolumes({ delayed: [delayed('d')] });
  const withVolume = {
    ...facts({}),
    freeVolumes: (_class: string, { name }: NodeInfo) => (name === 'node-a' ? [volume('v', 'a')] : []),
  };
  assert.equal(
    findNode({ ...search, volumes: claims, facts: withVolume }).node?.name,
    'node-a',
    'an existing volume before a new one',
  );
});

test('with StorageCapacityScoring the node with the most capacity left is taken, per class', () => {
  const index = new NodeIndex();
  const infos = ['a', 'b', 'c'].map((zone) => nodeInfo(`node-${zone}`, { zone }));
  for (const info of infos) index.put(info, undefined, info.node);
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...stamp, name: 'p', namespace: 'ns' },
    spec: { containers: [] },
  };
  const GI = 1n << 30n;
  const capacity: Record<string, bigint> = { 'node-a': 10n * GI, 'node-b': 100n * GI, 'node-c': 50n * GI };
  const choose = (scoresCapacity: boolean, storageCapacity = true) =>
    findNode({
      demand: podDemand(pod),
      volumes: podVolumes({ delayed: [delayed('d'), delayed('e')] }),
      index,
      facts: {
        ...facts({ driver: { storageCapacity } }),
        roomFor: (_class, _size, { name }) => capacity[name],
      },
      exclusiveClash: false,
      earlier: undefined,
      avoid: new Set<string>(),
      start: 0,
      scoresCapacity,
    }).node?.name;
  assert.equal(choose(true), 'node-b');
  assert.equal(choose(false), 'node-a', 'without the gate, the first of equal ones');
  assert.equal(choose(true, false), 'node-a', 'what the driver does not publish does not count');
});
