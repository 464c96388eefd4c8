import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, texts } from './testing/rows.ts';
import { validateVolume, validateVolumeUpdate } from './volume.ts';
import { validateAttachment, validateAttachmentUpdate } from './volume-attachment.ts';

const csi = { driver: 'd.example', volumeHandle: 'h' };
const good = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi };
const volume = (spec: Body) => ({ spec: { ...good, ...spec } }) as never;
const affinity = (...expressions: Body[]) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: expressions }] },
});
const zoned = (key: string, zone = 'a') => affinity({ key, operator: 'In', values: [zone] });
const NO_CSI = { csi: undefined };

const created: [string, Body, string[]][] = [
  ['a good one', {}, []],
  ['without a source', NO_CSI, ['spec: Required value: must specify a volume type']],
  [
    'of more than storage',
    { capacity: { storage: '1Gi', cpu: '1' } },
    ['spec.capacity: Unsupported value: "cpu": supported values: "storage"'],
  ],
  [
    'of anything but storage',
    { capacity: { cpu: '1' } },
    ['spec.capacity: Unsupported value: "cpu": supported values: "storage"'],
  ],
  [
    'of no size',
    { capacity: { storage: '0' } },
    ['spec.capacity[storage]: Invalid value: "0": must be greater than zero'],
  ],
  [
    'with a policy that does not exist',
    { persistentVolumeReclaimPolicy: 'Burn' },
    [
      'spec.persistentVolumeReclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Recycle", "Retain"',
    ],
  ],
  [
    'that would recycle the root of a node',
    { ...NO_CSI, hostPath: { path: '/' }, persistentVolumeReclaimPolicy: 'Recycle' },
    ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
  ],
  ['that keeps the root of a node', { ...NO_CSI, hostPath: { path: '/' } }, []],
  [
    'that recycles another directory',
    { ...NO_CSI, hostPath: { path: '/x' }, persistentVolumeReclaimPolicy: 'Recycle' },
    [],
  ],
  ['of no directory', { ...NO_CSI, hostPath: {} }, ['spec.hostPath.path: Required value']],
  [
    'local, without path and nodes',
    { ...NO_CSI, local: {} },
    [
      'spec.local.path: Required value',
      'spec.nodeAffinity: Required value: Local volume requires node affinity',
    ],
  ],
  ['local', { ...NO_CSI, local: { path: '/x' }, nodeAffinity: zoned('zone') }, []],
  [
    'over NFS, from nowhere',
    { ...NO_CSI, nfs: {} },
    [
      'spec.nfs.server: Required value',
      'spec.nfs.path: Required value',
      'spec.nfs.path: Invalid value: "": must be an absolute path',
    ],
  ],
  ['with a driver in capitals', { csi: { ...csi, driver: 'D.example' } }, []],
  ['without a driver', { csi: { volumeHandle: 'h' } }, ['spec.csi.driver: Required value']],
  [
    'with a driver that is too long',
    { csi: { ...csi, driver: 'd'.repeat(64) } },
    ['spec.csi.driver: Too long: may not be more than 63 bytes'],
  ],
  ['with a driver as long as it may be', { csi: { ...csi, driver: 'd'.repeat(63) } }, []],
  [
    'with half a secret',
    { csi: { ...csi, nodeStageSecretRef: { name: 's' }, nodePublishSecretRef: { namespace: 'n' } } },
    [
      'spec.csi.nodePublishSecretRef.name: Required value',
      'spec.csi.nodeStageSecretRef.namespace: Required value',
    ],
  ],
  [
    'with an empty affinity',
    { nodeAffinity: {} },
    ['spec.nodeAffinity.required: Required value: must specify required node constraints'],
  ],
  [
    'with an affinity without terms',
    { nodeAffinity: { required: { nodeSelectorTerms: [] } } },
    [
      'spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term',
    ],
  ],
  ['with an attributes class', { volumeAttributesClassName: 'gold' }, []],
  [
    'with an empty attributes class',
    { volumeAttributesClassName: '' },
    ['spec.volumeAttributesClassName: Required value: an empty string is disallowed'],
  ],
  [
    'with an attributes class, not of CSI',
    { ...NO_CSI, hostPath: { path: '/x' }, volumeAttributesClassName: 'gold' },
    ['spec.csi: Required value: has to be specified when using volumeAttributesClassName'],
  ],
];
for (const [name, spec, errors] of created) {
  test(`a volume ${name}`, () => assert.deepEqual(texts(validateVolume(volume(spec))), errors));
}

const selectors: [string, Body, string[]][] = [
  ['In', { key: 'k', operator: 'In', values: ['a', 'b'] }, []],
  [
    'In nothing',
    { key: 'k', operator: 'In' },
    ["values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
  ],
  [
    'NotIn nothing',
    { key: 'k', operator: 'NotIn', values: [] },
    ["values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
  ],
  ['Exists', { key: 'k', operator: 'Exists' }, []],
  [
    'Exists with values',
    { key: 'k', operator: 'Exists', values: ['a'] },
    ["values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
  ],
  [
    'DoesNotExist with values',
    { key: 'k', operator: 'DoesNotExist', values: ['a'] },
    ["values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
  ],
  ['Gt', { key: 'k', operator: 'Gt', values: ['1'] }, []],
  ['Lt', { key: 'k', operator: 'Lt', values: ['1'] }, []],
  [
    'Lt of two',
    { key: 'k', operator: 'Lt', values: ['1', '2'] },
    ["values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"],
  ],
  [
    'an operator that does not exist',
    { key: 'k', operator: 'Near' },
    ['operator: Invalid value: "Near": not a valid selector operator'],
  ],
];
for (const [name, expression, errors] of selectors) {
  test(`the node affinity of a volume: ${name}`, () => {
    const path = 'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].';
    const found = texts(validateVolume(volume({ nodeAffinity: affinity(expression) })));
    assert.deepEqual(
      found,
      errors.map((error) => `${path}${error}`),
    );
  });
}

test('the node affinity of a volume by field: one node by its name', () => {
  const errors = (field: Body) => {
    const nodeAffinity = { required: { nodeSelectorTerms: [{ matchFields: [field] }] } };
    return texts(validateVolume(volume({ nodeAffinity }))).map((text) =>
      text.replace(/^.*matchFields\[0\]\./, ''),
    );
  };
  const key = 'metadata.name';
  assert.deepEqual(errors({ key, operator: 'In', values: ['n'] }), []);
  assert.deepEqual(errors({ key, operator: 'NotIn', values: ['n'] }), []);
  const one =
    "values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
  assert.deepEqual(errors({ key, operator: 'In', values: ['n', 'm'] }), [one]);
  assert.deepEqual(errors({ key, operator: 'Exists' }), [
    'operator: Unsupported value: "Exists": supported values: "In", "NotIn"',
  ]);
  assert.deepEqual(errors({ key: 'spec.x', operator: 'In', values: ['n'] }), [
    'key: Invalid value: "spec.x": not a valid field selector key',
  ]);
});

const source =
  'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation';
const nodes =
  /^nodeAffinity: Invalid value: .*: field is immutable, except for updating from beta label to GA$/;
const changed: { name: string; before?: Body; after: Body; errors: (string | RegExp)[] }[] = [
  { name: 'nothing', after: {}, errors: [] },
  {
    name: 'its size and claim',
    after: { capacity: { storage: '2Gi' }, claimRef: { name: 'c' } },
    errors: [],
  },
  { name: 'its handle', after: { csi: { ...csi, volumeHandle: 'i' } }, errors: [source] },
  { name: 'its kind', after: { ...NO_CSI, hostPath: { path: '/x' } }, errors: [source] },
  {
    name: 'its secret for expansion',
    after: { csi: { ...csi, controllerExpandSecretRef: { name: 's' } } },
    errors: [],
  },
  {
    name: 'its secret for expansion on nodes',
    after: { csi: { ...csi, nodeExpandSecretRef: { name: 's' } } },
    errors: [source],
  },
  { name: 'another secret', after: { csi: { ...csi, nodeStageSecretRef: { name: 's' } } }, errors: [source] },
  {
    name: 'its mode',
    after: { volumeMode: 'Block' },
    errors: ['volumeMode: Invalid value: "Block": field is immutable'],
  },
  { name: 'its nodes, where it had none', after: { nodeAffinity: zoned('zone') }, errors: [] },
  {
    name: 'its nodes',
    before: { nodeAffinity: zoned('zone') },
    after: { nodeAffinity: zoned('zone', 'b') },
    errors: [nodes],
  },
  { name: 'to all nodes', before: { nodeAffinity: zoned('zone') }, after: {}, errors: [nodes] },
  {
    name: 'the names of its topology labels',
    before: { nodeAffinity: zoned('failure-domain.beta.kubernetes.io/zone') },
    after: { nodeAffinity: zoned('topology.kubernetes.io/zone') },
    errors: [],
  },
  {
    name: 'the name of the label of its region',
    before: { nodeAffinity: zoned('failure-domain.beta.kubernetes.io/region') },
    after: { nodeAffinity: zoned('topology.kubernetes.io/region') },
    errors: [],
  },
  {
    name: 'its attributes class',
    before: { volumeAttributesClassName: 'gold' },
    after: { volumeAttributesClassName: 'iron' },
    errors: [],
  },
  {
    name: 'to no attributes class',
    before: { volumeAttributesClassName: 'gold' },
    after: {},
    errors: ['spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden'],
  },
];
for (const { name, before = {}, after, errors } of changed) {
  test(`a volume changes ${name}`, () => {
    const found = texts(validateVolumeUpdate(volume(after), volume(before), ''));
    assert.equal(found.length, errors.length, found.join('\n'));
    for (const [index, error] of errors.entries()) {
      if (typeof error === 'string') assert.equal(found[index], error);
      else assert.match(found[index] ?? '', error);
    }
    assert.deepEqual(validateVolumeUpdate(volume(after), volume(before), 'status'), []);
  });
}

const one = 'must specify exactly one of inlineVolumeSource, inlineVolumeSpec and persistentVolumeName';
const inSpec = (more: Body = {}) => ({ inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi, ...more } });
const inPod = (more: Body = {}) => ({
  inlineVolumeSource: { namespace: 'ns', volumeSource: { csi }, ...more },
});
const inline = 'may not be specified in the context of inline volumes';
const attachments: [string, Body, string[]][] = [
  ['a volume', { persistentVolumeName: 'pv' }, []],
  ['an inline spec', inSpec(), []],
  ['an inline volume of a pod', inPod(), []],
  ['nothing', {}, [`: Required value: ${one}`]],
  ['two', { persistentVolumeName: 'pv', ...inPod() }, [`: Forbidden: ${one}`]],
  [
    'a volume without a name',
    { persistentVolumeName: '' },
    ['.persistentVolumeName: Required value: must specify non empty persistentVolumeName'],
  ],
  [
    'an inline spec with what belongs to an object',
    inSpec({ claimRef: {}, storageClassName: 'c', capacity: { storage: '1' }, volumeMode: 'Block' }),
    [
      `.inlineVolumeSpec.claimRef: Forbidden: ${inline}`,
      `.inlineVolumeSpec.storageClassName: Forbidden: ${inline}`,
      `.inlineVolumeSpec.volumeMode: Forbidden: ${inline}`,
      `.inlineVolumeSpec.capacity: Forbidden: ${inline}: storage`,
    ],
  ],
  [
    'an inline spec that is not CSI',
    inSpec({ csi: undefined, hostPath: { path: '/x' } }),
    [
      '.inlineVolumeSpec.hostPath: Forbidden: only csi may be specified in the context of inline volumes',
      '.inlineVolumeSpec.csi: Required value: must specify CSIPersistentVolumeSource in the context of inline volumes',
    ],
  ],
  [
    'an inline spec without a handle',
    inSpec({ csi: { driver: 'd.example' } }),
    ['.inlineVolumeSpec.csi.volumeHandle: Required value'],
  ],
  [
    'an inline volume of no pod',
    inPod({ namespace: '', volumeSource: { name: 'v', emptyDir: {} } }),
    [
      '.inlineVolumeSource.namespace: Required value',
      '.inlineVolumeSource.volumeSource.emptyDir: Forbidden: only csi may be specified',
      '.inlineVolumeSource.volumeSource.csi: Required value',
    ],
  ],
];
for (const [name, given, errors] of attachments) {
  test(`an attachment of ${name}`, () => {
    const spec = { attacher: 'd.example', nodeName: 'n', source: given };
    assert.deepEqual(
      texts(validateAttachment({ spec } as never)),
      errors.map((error) => `spec.source${error}`),
    );
  });
}

test('the status of an attachment is limited, its spec does not change', () => {
  const spec = { attacher: 'd.example', nodeName: 'n', source: { persistentVolumeName: 'pv' } };
  const errors = (status: Body) => texts(validateAttachment({ spec, status } as never));
  assert.deepEqual(errors({ attachError: { message: 'x'.repeat(1024), errorCode: 0 } }), []);
  assert.deepEqual(errors({ attachError: { message: 'x'.repeat(1025) } }), [
    'status.attachError.message: Too long: may not be more than 1024 bytes',
  ]);
  assert.deepEqual(errors({ detachError: { errorCode: -1 } }), [
    'status.detachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive',
  ]);
  assert.deepEqual(errors({ attachmentMetadata: { k: 'x'.repeat((1 << 18) - 1) } }), []);
  assert.deepEqual(errors({ attachmentMetadata: { k: 'x'.repeat(1 << 18) } }), [
    'status.attachmentMetadata: Too long: may not be more than 262144 bytes',
  ]);
  const nameless = texts(validateAttachment({ spec: { source: spec.source } } as never));
  assert.equal(nameless[0], 'spec.attacher: Required value');
  assert.match(nameless[1] ?? '', /^spec.nodeName: Invalid value: "": a lowercase RFC 1123 subdomain/);
  const after = { spec: { ...spec, nodeName: 'm' } };
  assert.match(
    texts(validateAttachmentUpdate(after as never, { spec } as never))[0] ?? '',
    /^spec: .*immutable$/,
  );
});
