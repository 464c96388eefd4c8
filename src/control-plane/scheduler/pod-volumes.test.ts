import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodVolume,
  StorageClass,
} from '../../api/kinds.ts';
import { ANN_BIND_COMPLETED } from '../../api/well-known.ts';
import { podVolumes, UNBOUND_IMMEDIATE } from './pod-volumes.ts';

const DRIVER = 'driver.example';

type ClaimChange = Partial<PersistentVolumeClaim['spec']> & {
  metadata?: object;
  isBound?: boolean;
  phase?: string;
};

function claim({ metadata, isBound, phase, ...spec }: ClaimChange = {}): PersistentVolumeClaim {
  return {
    metadata: {
      name: 'data',
      namespace: 'ns',
      uid: 'uid',
      ...(isBound && { annotations: { [ANN_BIND_COMPLETED]: 'yes' } }),
      ...metadata,
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'late',
      resources: { requests: { storage: '1Gi' } },
      ...spec,
    },
    ...(phase && { status: { phase } }),
  } as unknown as PersistentVolumeClaim;
}

function volume(name: string, spec: Partial<PersistentVolume['spec']> = {}): PersistentVolume {
  return {
    metadata: { name },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'late',
      claimRef: { namespace: 'ns', name: 'data' },
      csi: { driver: DRIVER, volumeHandle: `h-${name}` },
      ...spec,
    },
    status: { phase: 'Available' },
  } as PersistentVolume;
}

const late = { provisioner: DRIVER, volumeBindingMode: 'WaitForFirstConsumer' } as StorageClass;
const now = { provisioner: DRIVER, volumeBindingMode: 'Immediate' } as StorageClass;
const ofClaim: PodVolume = { name: 'v', persistentVolumeClaim: { claimName: 'data' } };
const ephemeral: PodVolume = { name: 'v', ephemeral: {} };

interface Given {
  volumes?: PodVolume[];
  claims?: PersistentVolumeClaim[];
  persistent?: PersistentVolume[];
  reserved?: PersistentVolume[];
}

function found({ volumes = [ofClaim], claims = [], persistent = [], reserved = [] }: Given) {
  const pod = { metadata: { name: 'p', namespace: 'ns', uid: 'pod' }, spec: { volumes } } as Pod;
  const result = podVolumes(pod, {
    claim: (key) => claims.find(({ metadata }) => `ns/${metadata.name}` === key),
    volume: (name) => persistent.find(({ metadata }) => metadata.name === name),
    storageClass: (name) => ({ late, now })[name],
    reservedFor: () => reserved,
  });
  if ('problem' in result) return result.problem;
  return {
    existing: result.existing.map(({ metadata }) => metadata.name),
    delayed: result.delayed.map(({ key }) => key),
    allBound: result.allBound,
    volumeGone: result.volumeGone,
    exclusive: result.exclusiveClaims,
    counted: [...result.byDriver].flatMap(([, ids]) => [...ids]),
  };
}

const nothing = { existing: [], delayed: [], allBound: true, volumeGone: false, exclusive: [], counted: [] };
const idOf = (handle: string) => `kubernetes.io/csi/${DRIVER}^${handle}`;
const bound = claim({ isBound: true, volumeName: 'pv' });

const table: { name: string; given: Given; then: string | Partial<typeof nothing> | object }[] = [
  {
    name: 'other kinds of volumes require nothing',
    given: { volumes: [{ name: 'v', emptyDir: {} }] },
    then: {},
  },
  {
    name: 'a persistent inline volume counts towards the limit, an ephemeral one does not',
    given: {
      volumes: [
        { name: 'v', csi: { driver: DRIVER, volumeHandle: 'h' } },
        { name: 'w', csi: { driver: DRIVER } },
      ],
    },
    then: { counted: [idOf('h')] },
  },
  {
    name: 'a bound claim brings its volume',
    given: { claims: [bound], persistent: [volume('pv')] },
    then: { existing: ['pv'], counted: [idOf('h-pv')] },
  },
  {
    name: 'a bound volume that is not CSI counts towards no limit',
    given: { claims: [bound], persistent: [volume('pv', { csi: undefined } as never)] },
    then: { existing: ['pv'] },
  },
  { name: 'a bound claim whose volume is gone', given: { claims: [bound] }, then: { volumeGone: true } },
  {
    name: 'a ReadWriteOncePod claim is exclusive',
    given: {
      claims: [claim({ isBound: true, volumeName: 'pv', accessModes: ['ReadWriteOncePod'] })],
      persistent: [volume('pv')],
    },
    then: { existing: ['pv'], exclusive: ['ns/data'], counted: [idOf('h-pv')] },
  },
  {
    name: 'a claim with delayed binding gets its volume with the node, and counts towards its limit',
    given: { claims: [claim()] },
    then: { delayed: ['ns/data'], allBound: false, counted: ['claim:ns/data'] },
  },
  {
    name: 'the smallest delayed claim comes first',
    given: {
      volumes: ['large', 'small'].map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
      claims: [
        claim({ metadata: { name: 'large' }, resources: { requests: { storage: '2Gi' } } }),
        claim({ metadata: { name: 'small' } }),
      ],
    },
    then: {
      delayed: ['ns/small', 'ns/large'],
      allBound: false,
      counted: ['claim:ns/large', 'claim:ns/small'],
    },
  },
  {
    name: 'a volume reserved for a delayed claim is used',
    given: { claims: [claim()], reserved: [volume('pv')] },
    then: { existing: ['pv'], allBound: false, counted: [idOf('h-pv')] },
  },
  {
    name: 'a reserved volume that is too small is not',
    given: { claims: [claim()], reserved: [volume('pv', { capacity: { storage: '1Mi' } })] },
    then: { delayed: ['ns/data'], allBound: false, counted: ['claim:ns/data'] },
  },
  { name: 'a missing claim', given: {}, then: 'persistentvolumeclaim "data" not found' },
  {
    name: 'a missing claim of a generic ephemeral volume',
    given: { volumes: [ephemeral] },
    then: 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"',
  },
  {
    name: 'a generic ephemeral volume whose claim is not its own',
    given: { volumes: [ephemeral], claims: [claim({ metadata: { name: 'p-v' } })] },
    then: 'PVC ns/p-v was not created for pod ns/p (pod is not owner)',
  },
  {
    name: 'a generic ephemeral volume with its own claim',
    given: {
      volumes: [ephemeral],
      claims: [claim({ metadata: { name: 'p-v', ownerReferences: [{ uid: 'pod', controller: true }] } })],
    },
    then: { delayed: ['ns/p-v'], allBound: false, counted: ['claim:ns/p-v'] },
  },
  {
    name: 'a lost claim',
    given: { claims: [claim({ volumeName: 'pv', phase: 'Lost' })] },
    then: 'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
  },
  {
    name: 'a claim that is being deleted',
    given: { claims: [claim({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })] },
    then: 'persistentvolumeclaim "data" is being deleted',
  },
  {
    name: 'an unbound claim whose user chose the volume',
    given: { claims: [claim({ volumeName: 'pv' })] },
    then: UNBOUND_IMMEDIATE,
  },
  {
    name: 'an unbound claim without a class',
    given: { claims: [claim({ storageClassName: '' })] },
    then: UNBOUND_IMMEDIATE,
  },
  {
    name: 'an unbound claim of an immediate class',
    given: { claims: [claim({ storageClassName: 'now' })] },
    then: UNBOUND_IMMEDIATE,
  },
  {
    name: 'a class that does not exist',
    given: { claims: [claim({ storageClassName: 'none' })] },
    then: 'storageclass.storage.k8s.io "none" not found',
  },
];
for (const { name, given, then } of table) {
  test(name, () => {
    assert.deepEqual(found(given), typeof then === 'string' ? then : { ...nothing, ...then });
  });
}
