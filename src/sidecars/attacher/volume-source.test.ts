import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, VolumeAttachment } from '../../api/kinds.ts';
import { volumeSourceOf } from './volume-source.ts';

const DRIVER = 'driver.example';
const csi = { driver: DRIVER, volumeHandle: 'h' };
type Source = VolumeAttachment['spec']['source'];

const byName: Source = { persistentVolumeName: 'pv' };
const inPod = (more: object = {}): Source => ({
  inlineVolumeSource: { volumeSource: { csi: { ...csi, ...more } }, namespace: 'ns' },
});
const inSpec = (more: object = {}): Source => ({ inlineVolumeSpec: { csi, ...more } as never });
const persistent = (spec: Partial<PersistentVolume['spec']> = {}) =>
  ({ metadata: { name: 'pv' }, spec: { csi, ...spec } }) as PersistentVolume;

const plain = {
  handle: 'h',
  secret: undefined,
  readOnly: false,
  attributes: {},
  accessModes: [],
  volumeMode: undefined,
  fsType: undefined,
  mountOptions: [],
};
const inline = { ...plain, accessModes: ['ReadWriteOnce'] };
const full = { readOnly: true, volumeAttributes: { a: 'b' }, fsType: 'xfs' };
const fullFields = { readOnly: true, attributes: { a: 'b' }, fsType: 'xfs' };
const shape = { accessModes: ['ReadOnlyMany'], volumeMode: 'Filesystem', mountOptions: ['noatime'] };

const table: {
  name: string;
  source: Source;
  volume?: PersistentVolume;
  attacher?: string;
  then: object | string;
}[] = [
  { name: 'a volume by name', source: byName, volume: persistent(), then: plain },
  {
    name: 'a volume by name, with all that a volume has',
    source: byName,
    volume: persistent({
      ...shape,
      csi: { ...csi, ...full, controllerPublishSecretRef: { name: 's', namespace: 'ns' } },
    }),
    then: { ...plain, ...fullFields, ...shape, secret: { name: 's', namespace: 'ns' } },
  },
  {
    name: 'half a reference to a secret',
    source: byName,
    volume: persistent({ csi: { ...csi, controllerPublishSecretRef: {} } }),
    then: { ...plain, secret: { name: '', namespace: '' } },
  },
  { name: 'an inline volume of a pod', source: inPod(), then: inline },
  {
    name: 'an inline volume of a pod, whose secret is beside it whatever the reference says',
    source: inPod({ ...full, controllerPublishSecretRef: { name: 's', namespace: 'elsewhere' } }),
    then: { ...inline, ...fullFields, secret: { name: 's', namespace: 'ns' } },
  },
  { name: 'an inline spec', source: inSpec(), then: inline },
  {
    name: 'an inline spec without access modes of its own',
    source: inSpec({ accessModes: [] }),
    then: inline,
  },
  {
    name: 'an inline spec, with all that a volume has',
    source: inSpec({
      ...shape,
      csi: { ...csi, ...full, controllerPublishSecretRef: { name: 's', namespace: 'any' } },
    }),
    then: { ...inline, ...fullFields, ...shape, secret: { name: 's', namespace: 'any' } },
  },
  {
    name: 'nothing',
    source: {},
    then: 'spec.source must name exactly one of persistentVolumeName, inlineVolumeSpec and inlineVolumeSource, it names 0',
  },
  {
    name: 'two',
    source: { ...byName, ...inPod() },
    volume: persistent(),
    then: 'spec.source must name exactly one of persistentVolumeName, inlineVolumeSpec and inlineVolumeSource, it names 2',
  },
  { name: 'a volume that is gone', source: byName, then: 'PersistentVolume "pv" does not exist' },
  {
    name: 'a volume that is not CSI',
    source: byName,
    volume: persistent({ csi: undefined } as never),
    then: 'PersistentVolume "pv" has no CSI volume source',
  },
  {
    name: 'an inline volume that is not CSI',
    source: { inlineVolumeSpec: {} as never },
    then: 'the inline volume has no CSI source; only CSI is supported',
  },
  {
    name: 'a volume of another driver',
    source: byName,
    volume: persistent(),
    attacher: 'other.example',
    then: 'the volume is of driver "driver.example", but the attachment asks for "other.example"',
  },
  {
    name: 'an inline volume without a handle',
    source: inPod({ volumeHandle: undefined }),
    then: 'the volume has an empty volumeHandle',
  },
];
for (const { name, source, volume, attacher = DRIVER, then } of table) {
  test(`an attachment of ${name}`, () => {
    const found = volumeSourceOf(
      { metadata: { name: 'a' }, spec: { attacher, nodeName: 'n', source } } as VolumeAttachment,
      volume,
    );
    assert.deepEqual(found, typeof then === 'string' ? { problem: then } : { volume: then });
  });
}
