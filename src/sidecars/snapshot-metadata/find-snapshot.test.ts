import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject, ObjectName, Resource } from '../../api/object.ts';
import { ANN_DEFAULT_SNAPSHOT_CLASS } from '../../api/well-known.ts';
import { CsiError } from '../../csi/csi-error.ts';
import { parseDriverName } from '../../csi/names/driver-name.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { findSnapshot } from './find-snapshot.ts';

const DRIVER = parseDriverName('d.example');

type Objects = Record<string, object | undefined>;

/** Objects by plural and name, as the API server has them. */
function reader(objects: Objects): KubeClient {
  return {
    async get({ plural }: Resource, { name }: ObjectName) {
      const found = objects[`${plural}/${name}`];
      if (found) return found as KubeObject;
      throw new KubeError({ code: 404, reason: 'NotFound', message: `${plural} "${name}" not found` });
    },
    async list({ plural }: Resource) {
      const keys = Object.keys(objects).filter((key) => key.startsWith(`${plural}/`));
      return { items: keys.map((key) => objects[key]), metadata: {} };
    },
  } as unknown as KubeClient;
}

const snapshotClass = (change: object = {}, annotations: object = {}) => ({
  metadata: { name: 'c', annotations },
  driver: DRIVER,
  ...change,
});
const isDefault = { [ANN_DEFAULT_SNAPSHOT_CLASS]: 'true' };
const snapshot = (spec: object, status: object = {}) => ({
  metadata: { name: 's', namespace: 'ns', uid: 'u' },
  spec,
  status: { readyToUse: true, boundVolumeSnapshotContentName: 'content', ...status },
});
const content = (spec: object = {}, status: object = {}) => ({
  metadata: { name: 'content' },
  spec: { driver: DRIVER, volumeSnapshotRef: { name: 's', namespace: 'ns', uid: 'u' }, ...spec },
  status: { readyToUse: true, snapshotHandle: 'h', ...status },
});
const named = { volumeSnapshotClassName: 'c' };
const secretOf = (name: string) => ({
  parameters: {
    'csi.storage.k8s.io/snapshotter-secret-name': name,
    'csi.storage.k8s.io/snapshotter-secret-namespace': 'ns',
  },
});
const ready: Objects = {
  'volumesnapshots/s': snapshot(named),
  'volumesnapshotcontents/content': content(),
  'volumesnapshotclasses/c': snapshotClass(),
  'secrets/key': { data: { k: Buffer.from('v').toString('base64') } },
};

const find = (change: Objects) =>
  findSnapshot(reader({ ...ready, ...change }), DRIVER, {
    namespace: 'ns',
    name: 's',
    signal: new AbortController().signal,
  });

const found: { name: string; change: Objects; secrets: object }[] = [
  { name: 'of a class without a secret', change: {}, secrets: {} },
  {
    name: 'with the secret of its class',
    change: { 'volumesnapshotclasses/c': snapshotClass(secretOf('key')) },
    secrets: { k: 'v' },
  },
  {
    name: 'without a class: with that of the driver’s default class',
    change: {
      'volumesnapshots/s': snapshot({}),
      'volumesnapshotclasses/a': snapshotClass(secretOf('none')),
      'volumesnapshotclasses/b': snapshotClass({ driver: 'other.example', ...secretOf('none') }, isDefault),
      'volumesnapshotclasses/c': snapshotClass(secretOf('key'), isDefault),
    },
    secrets: { k: 'v' },
  },
];
for (const { name, change, secrets } of found) {
  test(`[CBT-1] a snapshot is found: ${name}`, async () => {
    assert.deepEqual(await find(change), { handle: 'h', secrets });
  });
}

const refused: { name: string; change: Objects; code?: string; says: RegExp; hasCause?: true }[] = [
  {
    name: 'it does not exist',
    change: { 'volumesnapshots/s': undefined },
    says: /ns\/s: .*not found/,
    hasCause: true,
  },
  {
    name: 'it is not ready',
    change: { 'volumesnapshots/s': snapshot(named, { readyToUse: false }) },
    says: /VolumeSnapshot ns\/s is not ready/,
  },
  {
    name: 'it is not bound',
    change: { 'volumesnapshots/s': snapshot(named, { boundVolumeSnapshotContentName: undefined }) },
    says: /is not bound/,
  },
  {
    name: 'its content does not exist',
    change: { 'volumesnapshotcontents/content': undefined },
    says: /VolumeSnapshotContent content: .*not found/,
    hasCause: true,
  },
  {
    name: 'its content belongs to another snapshot',
    change: {
      'volumesnapshotcontents/content': content({
        volumeSnapshotRef: { name: 's', namespace: 'ns', uid: 'v' },
      }),
    },
    says: /another VolumeSnapshot than ns\/s/,
  },
  {
    name: 'its content is not ready',
    change: { 'volumesnapshotcontents/content': content({}, { readyToUse: false }) },
    says: /VolumeSnapshotContent content is not ready/,
  },
  {
    name: 'its content has no handle',
    change: { 'volumesnapshotcontents/content': content({}, { snapshotHandle: undefined }) },
    says: /no snapshot handle/,
  },
  {
    name: 'it is another driver’s',
    change: { 'volumesnapshotcontents/content': content({ driver: 'other.example' }) },
    code: 'INVALID_ARGUMENT',
    says: /belongs to driver other.example/,
  },
  {
    name: 'its secret is named by half',
    change: {
      'volumesnapshotclasses/c': snapshotClass({
        parameters: { 'csi.storage.k8s.io/snapshotter-secret-name': 'key' },
      }),
    },
    says: /VolumeSnapshotClass c: /,
  },
  {
    name: 'its secret does not exist',
    change: { 'volumesnapshotclasses/c': snapshotClass(secretOf('gone')) },
    says: /the secret of the snapshot class/,
    hasCause: true,
  },
  {
    name: 'no class is named, and none is the default',
    change: { 'volumesnapshots/s': snapshot({}) },
    says: /d.example has no default VolumeSnapshotClass/,
  },
  {
    name: 'no class is named, and two are the default',
    change: {
      'volumesnapshots/s': snapshot({}),
      'volumesnapshotclasses/b': snapshotClass({}, isDefault),
      'volumesnapshotclasses/c': snapshotClass({}, isDefault),
    },
    says: /more than one default/,
  },
];
for (const { name, change, code = 'UNAVAILABLE', says, hasCause } of refused) {
  test(`[CBT-1] a snapshot is refused: ${name}`, async () => {
    await assert.rejects(find(change), (error) => {
      assert.ok(error instanceof CsiError);
      assert.equal(error.code, code);
      assert.match(error.description, says);
      assert.equal('cause' in error && error.cause !== undefined, hasCause ?? false);
      return true;
    });
  });
}
