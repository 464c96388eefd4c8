import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateCSIDriver, validateCSIDriverUpdate, validateCSINode, validateCSINodeUpdate } from './csi.ts';
import {
  validateStorageCapacity,
  validateStorageCapacityUpdate,
  validateStorageClass,
  validateStorageClassUpdate,
  validateVolumeAttributesClass,
  validateVolumeAttributesClassUpdate,
} from './storage-class.ts';
import { type Body, changedFields, rows } from './testing/rows.ts';

const driver = (spec: Body) => ({ metadata: { name: 'd.example' }, spec });
const tokens = (...tokenRequests: Body[]) => driver({ tokenRequests });
rows(validateCSIDriver, {}, [
  ['a good driver', driver({ fsGroupPolicy: 'File', volumeLifecycleModes: ['Persistent', 'Ephemeral'] }), []],
  ['a driver without a spec', { metadata: { name: 'd.example' } }, []],
  ['a driver of no name', { metadata: { name: 'd_e' } }, ['metadata.name: Invalid']],
  [
    'a policy that does not exist',
    driver({ fsGroupPolicy: 'All' }),
    ['spec.fsGroupPolicy: Unsupported value'],
  ],
  [
    'a mode that does not exist',
    driver({ volumeLifecycleModes: ['Any'] }),
    ['spec.volumeLifecycleModes: Unsupported'],
  ],
  [
    'a lifecycle that does not exist',
    driver({ lifecycle: 'any', volumeLifecycleModes: ['Persistent'] }),
    ['spec.lifecycle: Unsupported'],
  ],
  [
    'a lifecycle that its modes have',
    driver({ lifecycle: 'ephemeral', volumeLifecycleModes: ['Ephemeral'] }),
    [],
  ],
  [
    'a lifecycle that its modes lack',
    driver({ lifecycle: 'ephemeral', volumeLifecycleModes: ['Persistent'] }),
    ['spec.volumeLifecycleModes: Invalid value: ["Persistent"]: must contain "Ephemeral"'],
  ],
  ['tokens', tokens({ audience: 'a', expirationSeconds: 600 }, { expirationSeconds: 2 ** 32 }), []],
  ['tokens without a time', tokens({ audience: 'a' }, { audience: 'b' }), []],
  [
    'two tokens for everybody',
    tokens({}, { audience: '' }),
    ['spec.tokenRequests[1].audience: Duplicate value'],
  ],
  [
    'a token that is too short',
    tokens({ expirationSeconds: 599 }),
    ['spec.tokenRequests[0].expirationSeconds: Invalid value: 599'],
  ],
  [
    'a token that is too long',
    tokens({ expirationSeconds: 2 ** 32 + 1 }),
    ['spec.tokenRequests[0].expirationSeconds: Invalid value: 4294967297'],
  ],
  [
    'tokens in secrets, without tokens',
    driver({ serviceAccountTokenInSecrets: true }),
    ['spec.serviceAccountTokenInSecrets: Invalid'],
  ],
  ['tokens in secrets', driver({ serviceAccountTokenInSecrets: true, tokenRequests: [{}] }), []],
  ['a period of ten seconds', driver({ nodeAllocatableUpdatePeriodSeconds: 10 }), []],
  [
    'a shorter period',
    driver({ nodeAllocatableUpdatePeriodSeconds: 9 }),
    ['spec.nodeAllocatableUpdatePeriodSeconds: Invalid'],
  ],
]);

test('attachRequired and the lifecycle modes of a CSIDriver are immutable', () => {
  const before = { spec: { attachRequired: true, volumeLifecycleModes: ['Persistent'] } };
  const changed = (spec: Body) =>
    changedFields(validateCSIDriverUpdate, before, { spec: { ...before.spec, ...spec } });
  assert.deepEqual(changed({ podInfoOnMount: true }), []);
  assert.deepEqual(changed({ attachRequired: false }), ['spec.attachedRequired']);
  assert.deepEqual(changed({ volumeLifecycleModes: [] }), ['spec.volumeLifecycleModes']);
});

const entry = {
  name: 'd.example',
  nodeID: 'i',
  topologyKeys: ['zone', 'example.com/rack'],
  allocatable: { count: 0 },
};
const node = (...drivers: Body[]) => ({ spec: { drivers } });
rows(validateCSINode, {}, [
  ['a good CSINode', node(entry, { name: 'e.example', nodeID: 'j' }), []],
  ['a CSINode without a spec', {}, []],
  ['no node ID', node({ name: 'd.example' }), ['spec.drivers[0].nodeID: Required value']],
  ['the longest node ID', node({ ...entry, nodeID: 'x'.repeat(256) }), []],
  [
    'a longer node ID',
    node({ ...entry, nodeID: 'x'.repeat(257) }),
    ['spec.drivers[0].nodeID: Invalid value'],
  ],
  [
    'a negative count',
    node({ ...entry, allocatable: { count: -1 } }),
    ['spec.drivers[0].allocatable.count: Invalid'],
  ],
  ['an empty key', node({ ...entry, topologyKeys: [''] }), ['spec.drivers[0]: Required value']],
  [
    'a key that is none',
    node({ ...entry, topologyKeys: ['a b'] }),
    ['spec.drivers[0]: Invalid value: "a b"'],
  ],
  ['a key twice', node({ ...entry, topologyKeys: ['a', 'a'] }), ['spec.drivers[0]: Duplicate value: "a"']],
  ['a driver twice', node(entry, entry), ['spec.drivers[1].name: Duplicate value']],
]);

test('of a CSINode entry only the allocatable count can change', () => {
  const changed = (...after: Body[]) => changedFields(validateCSINodeUpdate, node(entry), node(...after));
  assert.deepEqual(changed({ ...entry, allocatable: { count: 5 } }), []);
  assert.deepEqual(changed(), []);
  assert.deepEqual(changed(entry, { name: 'e.example', nodeID: 'j' }), []);
  assert.deepEqual(changed({ ...entry, nodeID: 'other' }), ['spec.drivers']);
  assert.deepEqual(changed({ ...entry, topologyKeys: [] }), ['spec.drivers']);
});

const KIB = 1024;
const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));
const zones = (...matchLabelExpressions: Body[]) => ({ matchLabelExpressions });
const topologies = (...allowedTopologies: Body[]) => ({ allowedTopologies });
rows(validateStorageClass, { provisioner: 'D.example' }, [
  ['a good class', { parameters: { a: 'b' }, reclaimPolicy: 'Retain', volumeBindingMode: 'Immediate' }, []],
  ['no provisioner', { provisioner: '' }, ['provisioner: Required value']],
  ['a provisioner that is none', { provisioner: 'a b' }, ['provisioner: Invalid value']],
  [
    'policies that do not exist',
    { reclaimPolicy: 'Burn', volumeBindingMode: 'Late' },
    ['reclaimPolicy: Unsup', 'volumeBindingMode: Unsup'],
  ],
  ['as many parameters as there may be', { parameters: many(512) }, []],
  ['more parameters', { parameters: many(513) }, ['parameters: Too long']],
  ['parameters as large as they may be', { parameters: { a: 'x'.repeat(256 * KIB - 1) } }, []],
  ['larger parameters', { parameters: { a: 'x'.repeat(256 * KIB) } }, ['parameters: Too long']],
  [
    'a parameter without a name',
    { parameters: { '': 'v' } },
    ['parameters: Invalid value: "": field can not be empty'],
  ],
  ['topologies', topologies(zones({ key: 'zone', values: ['a', 'b'] }, { key: 'rack', values: ['1'] })), []],
  [
    'a topology without values',
    topologies(zones({ key: 'zone', values: [] })),
    ['allowedTopologies[0].matchLabelExpressions[0].values: Required'],
  ],
  [
    'a topology with a value twice',
    topologies(zones({ key: 'zone', values: ['a', 'a'] })),
    ['allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate'],
  ],
  [
    'a topology with a key twice',
    topologies(zones({ key: 'zone', values: ['a'] }, { key: 'zone', values: ['b'] })),
    ['allowedTopologies[0].matchLabelExpressions[1].key: Duplicate'],
  ],
  [
    'the same topology twice, in another order',
    topologies(zones({ key: 'zone', values: ['a', 'b'] }), zones({ key: 'zone', values: ['b', 'a'] })),
    ['allowedTopologies[1]: Duplicate'],
  ],
  [
    'a topology key that is none',
    topologies(zones({ key: 'a b', values: ['a'] })),
    ['allowedTopologies[0].matchLabelExpressions[0].key: Invalid'],
  ],
]);

rows(validateVolumeAttributesClass, { driverName: 'd.example', parameters: { iops: '5' } }, [
  ['a good attributes class', {}, []],
  ['an attributes class of no driver', { driverName: '' }, ['driverName: Required value']],
  ['an attributes class without attributes', { parameters: {} }, ['parameters: Required value']],
]);

rows(validateStorageCapacity, { storageClassName: 'fast' }, [
  [
    'a good capacity',
    { capacity: '0', maximumVolumeSize: '1Gi', nodeTopology: { matchLabels: { zone: 'a' } } },
    [],
  ],
  ['a capacity of no class', { storageClassName: '' }, ['storageClassName: Invalid value: ""']],
  ['a capacity of a class that is none', { storageClassName: 'A' }, ['storageClassName: Invalid']],
  [
    'a capacity that is none, and a size that nobody checks',
    { capacity: 'much', maximumVolumeSize: '-1' },
    ['capacity: Invalid'],
  ],
  [
    'a capacity nowhere',
    {
      nodeTopology: {
        matchExpressions: [
          { key: 'zone', operator: 'In', values: [] },
          { key: 'a', operator: 'Exists', values: ['b'] },
          { key: 'a', operator: 'Gt', values: ['1'] },
        ],
      },
    },
    [
      'nodeTopology.matchExpressions[0].values: Required',
      'nodeTopology.matchExpressions[1].values: Forbidden',
      'nodeTopology.matchExpressions[2].operator: Invalid',
    ],
  ],
  [
    'a capacity somewhere',
    {
      nodeTopology: {
        matchExpressions: [
          { key: 'zone', operator: 'NotIn', values: ['a'] },
          { key: 'a', operator: 'DoesNotExist' },
        ],
      },
    },
    [],
  ],
]);

test('immutable fields of StorageClass, VolumeAttributesClass and CSIStorageCapacity', () => {
  const storageClass = {
    provisioner: 'd',
    parameters: { a: 'b' },
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'Immediate',
  };
  const changes = {
    provisioner: 'e',
    parameters: {},
    reclaimPolicy: 'Retain',
    volumeBindingMode: 'WaitForFirstConsumer',
  };
  for (const [field, value] of Object.entries(changes)) {
    assert.deepEqual(
      changedFields(validateStorageClassUpdate, storageClass, { ...storageClass, [field]: value }),
      [field],
    );
  }
  assert.deepEqual(
    changedFields(validateStorageClassUpdate, storageClass, { ...storageClass, mountOptions: ['a'] }),
    [],
  );
  const attributes = { driverName: 'd', parameters: { a: 'b' } };
  assert.deepEqual(changedFields(validateVolumeAttributesClassUpdate, attributes, { ...attributes }), []);
  assert.deepEqual(
    changedFields(validateVolumeAttributesClassUpdate, attributes, { driverName: 'e', parameters: {} }),
    ['driverName', 'parameters'],
  );
  const capacity = { storageClassName: 'a', nodeTopology: {} };
  assert.deepEqual(
    changedFields(validateStorageCapacityUpdate, capacity, { ...capacity, capacity: '1' }),
    [],
  );
  assert.deepEqual(changedFields(validateStorageCapacityUpdate, capacity, { storageClassName: 'b' }), [
    'nodeTopology',
    'storageClassName',
  ]);
});
