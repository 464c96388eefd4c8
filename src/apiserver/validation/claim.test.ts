import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateClaim, validateClaimUpdate } from './claim.ts';
import { type Body, texts } from './testing/rows.ts';

const size = (storage: string) => ({ requests: { storage } });
const good = { accessModes: ['ReadWriteOnce'], resources: size('1Gi') };
const claim = (spec: Body, status?: Body) =>
  ({ spec: { ...good, ...spec }, ...(status && { status }) }) as never;

const source = { kind: 'PersistentVolumeClaim', name: 'c' };
const snapshot = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' };
const NAME =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const created: [string, Body, string[]][] = [
  ['a good one', {}, []],
  [
    'with all that it may have',
    { storageClassName: 'fast', volumeAttributesClassName: 'gold', volumeMode: 'Block' },
    [],
  ],
  [
    'an access mode that does not exist',
    { accessModes: ['ReadWriteOnce', 'Any'] },
    [
      'spec.accessModes: Unsupported value: "Any": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
    ],
  ],
  ['ReadWriteOncePod alone', { accessModes: ['ReadWriteOncePod'] }, []],
  [
    'names of classes that are no names',
    { storageClassName: 'A', volumeAttributesClassName: 'B' },
    [
      `spec.storageClassName: Invalid value: "A": ${NAME}`,
      `spec.volumeAttributesClassName: Invalid value: "B": ${NAME}`,
    ],
  ],
  ['empty names of classes', { storageClassName: '', volumeAttributesClassName: '' }, []],
  ['a claim as its source', { dataSource: source }, []],
  ['a snapshot as its source', { dataSource: snapshot, dataSourceRef: snapshot }, []],
  [
    'a source without name and kind',
    { dataSource: { apiGroup: 'x.example' } },
    ['spec.dataSource.name: Required value', 'spec.dataSource.kind: Required value'],
  ],
  [
    'a source of no group that is no claim',
    { dataSourceRef: { kind: 'Book', name: 'b' } },
    [
      'spec.dataSourceRef: Invalid value: "Book": must be \'PersistentVolumeClaim\' when referencing the default apiGroup',
    ],
  ],
  [
    'a source of a group that is none',
    { dataSource: { ...snapshot, apiGroup: 'X' } },
    [`spec.dataSource.apiGroup: Invalid value: "X": ${NAME}`],
  ],
  [
    'two sources',
    { dataSource: source, dataSourceRef: { ...source, name: 'd' } },
    ['spec: Invalid value: {"kind":"PersistentVolumeClaim","name":"c"}: must match dataSourceRef'],
  ],
  [
    'a source of a group given as empty',
    { dataSource: { ...source, apiGroup: '' }, dataSourceRef: source },
    [],
  ],
  [
    'a source beside a reference to another namespace',
    { dataSource: source, dataSourceRef: { ...source, namespace: 'x' } },
    [
      'spec: Invalid value: {"dataSource":{"kind":"PersistentVolumeClaim","name":"c"}}: may not be specified when dataSourceRef.namespace is specified',
    ],
  ],
  ['a reference to another namespace', { dataSourceRef: { ...source, namespace: 'x' } }, []],
  [
    'a selector with a key that is none',
    { selector: { matchLabels: { '-': 'v' } } },
    [
      "spec.selector.matchLabels: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ],
];
for (const [name, spec, errors] of created) {
  test(`a claim: ${name}`, () => assert.deepEqual(texts(validateClaim(claim(spec))), errors));
}

const immutable =
  'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
const less = 'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity';
const bound = { phase: 'Bound', capacity: { storage: '1Gi' } };

const changed: { name: string; before?: Body; status?: Body; after?: Body; errors: string[] }[] = [
  { name: 'nothing', after: {}, errors: [] },
  { name: 'its volume, once', after: { volumeName: 'pv' }, errors: [] },
  { name: 'its volume again', before: { volumeName: 'pv' }, after: { volumeName: 'w' }, errors: [immutable] },
  { name: 'the default class, once', after: { storageClassName: 'fast' }, errors: [] },
  {
    name: 'its class again',
    before: { storageClassName: 'fast' },
    after: { storageClassName: 'slow' },
    errors: [immutable],
  },
  {
    name: 'a class of a claim with a volume',
    before: { volumeName: 'pv' },
    after: { volumeName: 'pv', storageClassName: 'fast' },
    errors: [immutable],
  },
  { name: 'its access modes', after: { accessModes: ['ReadWriteMany'] }, errors: [immutable] },
  { name: 'its size before it is bound', after: { resources: size('2Gi') }, errors: [immutable] },
  { name: 'the spelling of its size', after: { resources: size('1024Mi') }, errors: [] },
  { name: 'its size once it is bound', status: bound, after: { resources: size('2Gi') }, errors: [] },
  {
    name: 'its size, back to more than it has',
    before: { resources: size('3Gi') },
    status: bound,
    after: { resources: size('2Gi') },
    errors: [],
  },
  {
    name: 'its size, back to what it has',
    before: { resources: size('3Gi') },
    status: bound,
    after: { resources: size('1Gi') },
    errors: [less],
  },
  {
    name: 'its size, to less, where it is not known what it has',
    before: { resources: size('3Gi') },
    status: { phase: 'Bound' },
    after: { resources: size('1Gi') },
    errors: [],
  },
  {
    name: 'its attributes class before it is bound',
    after: { volumeAttributesClassName: 'gold' },
    errors: [immutable],
  },
  {
    name: 'its attributes class once it is bound',
    status: bound,
    after: { volumeAttributesClassName: 'gold' },
    errors: [],
  },
  {
    name: 'to no attributes class, after it had one',
    before: { volumeAttributesClassName: 'gold' },
    status: { ...bound, currentVolumeAttributesClassName: 'gold' },
    after: {},
    errors: [
      'spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when status.currentVolumeAttributesClassName is not nil',
    ],
  },
  {
    name: 'to an empty attributes class, after it had one',
    before: { volumeAttributesClassName: 'gold' },
    status: { ...bound, currentVolumeAttributesClassName: 'gold' },
    after: { volumeAttributesClassName: '' },
    errors: [
      'spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil',
    ],
  },
];
for (const { name, before = {}, status, after = {}, errors } of changed) {
  test(`a claim changes ${name}`, () => {
    assert.deepEqual(texts(validateClaimUpdate(claim(after), claim(before, status), '')), errors);
  });
}

test('the status of a claim: quantities, and states that exist', () => {
  const status = {
    capacity: { storage: 'much' },
    allocatedResources: { storage: '-1' },
    allocatedResourceStatuses: { storage: 'Growing' },
  };
  const found = texts(validateClaimUpdate(claim({ accessModes: [] }, status), claim({}), 'status'));
  assert.deepEqual(found, [
    'status.capacity[storage]: Invalid value: "much": quantities must match the regular expression \'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$\'',
    'status.allocatedResources[storage]: Invalid value: "-1": must be greater than or equal to 0',
    'status.allocatedResourceStatuses: Unsupported value: "storage": supported values: "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizePending", "NodeResizeInProgress", "NodeResizeInfeasible"',
  ]);
  const right = {
    capacity: { storage: '1Gi' },
    allocatedResources: { storage: '0' },
    allocatedResourceStatuses: { storage: 'NodeResizePending' },
  };
  assert.deepEqual(validateClaimUpdate(claim({}, right), claim({}), 'status'), []);
  assert.deepEqual(validateClaimUpdate(claim({}), claim({}), 'status'), []);
});
