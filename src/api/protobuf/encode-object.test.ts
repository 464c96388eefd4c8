import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { WireError } from '../../wire/protobuf/wire-reader.ts';
import { decodeObject } from './decode-object.ts';
import { encodeObject } from './encode-object.ts';
import { readWritten } from './read-written.ts';

const CLAIM = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' };
const VOLUME = { apiVersion: 'v1', kind: 'PersistentVolume' };

const bytesOf = (type: { apiVersion: string; kind: string }, object: object): Buffer => {
  const text = encodeObject(type, object as Record<string, unknown>);
  assert.notEqual(text, undefined);
  return Buffer.from(text as string, 'latin1');
};

const metadata = {
  name: 'daten-ä-日本-😀',
  namespace: 'default',
  uid: '3b241101-e2bb-4255-8caf-4136c566a962',
  resourceVersion: '4711',
  creationTimestamp: '2026-11-15T07:00:00Z',
  annotations: { a: '1', 'long/key': 'x'.repeat(300), empty: '' },
  finalizers: ['kubernetes.io/pvc-protection', 'csi.berth/provisioning'],
};
const claim = {
  ...CLAIM,
  metadata,
  spec: {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Mi' } },
    volumeName: 'pvc-1',
    storageClassName: 'fast',
    volumeMode: 'Filesystem',
    dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' },
  },
  status: { phase: 'Bound', capacity: { storage: '1Mi' } },
};
const volume = {
  ...VOLUME,
  metadata: { name: 'pvc-1', creationTimestamp: '2026-11-15T07:00:00Z' },
  spec: {
    capacity: { storage: '20Gi' },
    csi: {
      driver: 'hostpath.csi',
      volumeHandle: 'h',
      readOnly: true,
      volumeAttributes: { k: 'v' },
      nodeStageSecretRef: { name: 's', namespace: 'n' },
    },
    accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
    claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'c', uid: 'u', apiVersion: 'v1' },
    persistentVolumeReclaimPolicy: 'Delete',
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a', 'b'] }] }],
      },
    },
  },
};
const event = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'e', namespace: 'default' },
  involvedObject: { kind: 'Pod', name: 'p' },
  eventTime: '2026-11-15T07:00:00.123456Z',
  count: 300,
  reportingComponent: 'c',
  reportingInstance: '',
};

suite('Objects as protobuf', () => {
  for (const object of [claim, volume, event]) {
    test(`${object.kind} is read back as it was written`, () => {
      assert.deepEqual(decodeObject(bytesOf(object, object)), object);
    });
  }

  test('what is not set is not written', () => {
    const sparse = { ...CLAIM, metadata: { name: 'c', labels: undefined, annotations: null }, spec: {} };
    assert.deepEqual(decodeObject(bytesOf(CLAIM, sparse)), { ...CLAIM, metadata: { name: 'c' }, spec: {} });
  });

  test('any text and any number of fields survive', () => {
    const text = fc.string({ unit: 'binary', maxLength: 200 });
    const annotations = fc.dictionary(
      text.filter((key) => key !== '__proto__'),
      text,
      { maxKeys: 40 },
    );
    fc.assert(
      fc.property(
        annotations,
        fc.array(text, { minLength: 1 }),
        fc.nat(),
        (given, finalizers, generation) => {
          const sent = { ...CLAIM, metadata: { name: 'c', annotations: given, finalizers, generation } };
          const read = decodeObject(bytesOf(CLAIM, sent)) as typeof sent;
          assert.deepEqual({ ...read.metadata.annotations }, { ...given });
          assert.deepEqual(read.metadata.finalizers, finalizers);
          assert.equal(read.metadata.generation ?? 0, generation);
        },
      ),
    );
  });

  const unsayable: Record<string, object> = {
    'a field from a later version': { ...claim, spec: { ...claim.spec, fromTheFuture: 1 } },
    'a field at the top': { ...claim, extra: 1 },
    'a text where a message belongs': { ...claim, spec: 'x' },
    'a number where a text belongs': { ...claim, metadata: { ...metadata, name: 5 } },
    'a list where a map belongs': { ...claim, metadata: { ...metadata, finalizers: { a: 1 } } },
    'a negative number': { ...claim, metadata: { ...metadata, generation: -1 } },
    'a time that is none': { ...claim, metadata: { ...metadata, creationTimestamp: 'yesterday' } },
    'managed fields': {
      ...claim,
      metadata: { ...metadata, managedFields: [{ fieldsV1: { 'f:spec': {} } }] },
    },
  };
  for (const [name, object] of Object.entries(unsayable)) {
    test(`${name} is left to JSON`, () => {
      assert.equal(encodeObject(CLAIM, object as Record<string, unknown>), undefined);
    });
  }

  test('a kind without a protobuf form is left to JSON', () => {
    assert.equal(encodeObject({ apiVersion: 'example.com/v1', kind: 'Thing' }, {}), undefined);
  });
});

suite('What was written', () => {
  test('is read from the answer without reading the rest', () => {
    const { uid, resourceVersion } = metadata;
    assert.deepEqual(readWritten(bytesOf(CLAIM, claim)), { uid, resourceVersion });
  });

  test('is missing from garbage, from an empty object, and from one that is cut anywhere', () => {
    const whole = bytesOf(CLAIM, {
      ...CLAIM,
      metadata: { generation: 300, uid: 'u', resourceVersion: '1', name: 'c' },
    });
    assert.throws(() => readWritten(bytesOf(CLAIM, { ...CLAIM, metadata: {} })), WireError);
    assert.throws(() => readWritten(Buffer.from('<html>')), WireError);
    for (let length = 0; length < whole.length; length++) {
      assert.throws(() => readWritten(whole.subarray(0, length)), WireError);
    }
  });
});
