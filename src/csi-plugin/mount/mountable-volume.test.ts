import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CSIDriver, CSIVolumeSource, PersistentVolume, Pod } from '../../api/kinds.ts';
import { ephemeralVolumeHandle } from '../../api/volumes.ts';
import { fromInlineVolume, fromPersistentVolume } from './mountable-volume.ts';

const DRIVER = 'd.test';

function pv(spec: object, csi: object = {}): PersistentVolume {
  const source = { driver: DRIVER, volumeHandle: 'h', ...csi };
  return { metadata: { name: 'pv-1' }, spec: { csi: source, ...spec } } as unknown as PersistentVolume;
}

function inline(csi: Partial<CSIVolumeSource>, modes?: string[], namespace: string | undefined = 'ns') {
  const pod = { metadata: { name: 'p', namespace, uid: 'u-1' }, spec: {} } as unknown as Pod;
  const object = modes && ({ metadata: {}, spec: { volumeLifecycleModes: modes } } as unknown as CSIDriver);
  return fromInlineVolume(pod, { name: 'v', csi: { driver: DRIVER, ...csi } }, object);
}

test('a PersistentVolume is mounted as it is declared', () => {
  const terms = [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }];
  const full = pv(
    {
      volumeMode: 'Block',
      accessModes: ['ReadOnlyMany'],
      mountOptions: ['noatime'],
      capacity: { storage: '1Gi' },
      nodeAffinity: { required: { nodeSelectorTerms: terms } },
    },
    {
      fsType: 'xfs',
      readOnly: true,
      volumeAttributes: { a: 'b' },
      nodeStageSecretRef: { name: 's', namespace: 'x' },
      nodePublishSecretRef: { name: 'p', namespace: 'y' },
      nodeExpandSecretRef: { name: 'e', namespace: 'z' },
    },
  );
  assert.deepEqual(fromPersistentVolume(full), {
    driver: DRIVER,
    handle: 'h',
    specName: 'pv-1',
    lifecycle: 'Persistent',
    block: true,
    attributes: { a: 'b' },
    fsType: 'xfs',
    accessModes: ['ReadOnlyMany'],
    mountOptions: ['noatime'],
    readOnly: true,
    secrets: {
      stage: { name: 's', namespace: 'x' },
      publish: { name: 'p', namespace: 'y' },
      expand: { name: 'e', namespace: 'z' },
    },
    attachedAs: { pvName: 'pv-1' },
    requiredNodes: terms,
    capacity: '1Gi',
  });
});

test('what a PersistentVolume leaves out is empty, never absent', () => {
  assert.deepEqual(fromPersistentVolume(pv({})), {
    driver: DRIVER,
    handle: 'h',
    specName: 'pv-1',
    lifecycle: 'Persistent',
    block: false,
    attributes: {},
    fsType: '',
    accessModes: [],
    mountOptions: [],
    readOnly: false,
    secrets: {},
    attachedAs: { pvName: 'pv-1' },
  });
  const half = fromPersistentVolume(
    pv({ nodeAffinity: { required: {} } }, { nodeStageSecretRef: {}, nodePublishSecretRef: { name: 'p' } }),
  );
  assert.deepEqual(half.secrets, {
    stage: { name: '', namespace: '' },
    publish: { name: 'p', namespace: '' },
  });
  assert.deepEqual(half.requiredNodes, [], 'an affinity without terms matches no node');
});

test('[INL-2] [INL-5] an inline volume with a handle is the volume of that name, attached from the pod’s namespace', () => {
  const source = {
    volumeHandle: 'h',
    fsType: 'ext4',
    readOnly: true,
    volumeAttributes: { a: 'b' },
    nodePublishSecretRef: { name: 'p' },
    nodeStageSecretRef: { name: 's' },
  };
  const expected = {
    driver: DRIVER,
    handle: 'h',
    specName: 'v',
    lifecycle: 'Persistent',
    block: false,
    attributes: { a: 'b' },
    fsType: 'ext4',
    accessModes: ['ReadWriteOnce'],
    mountOptions: [],
    readOnly: true,
    secrets: { publish: { name: 'p', namespace: 'ns' }, stage: { name: 's', namespace: 'ns' } },
    attachedAs: { inlineIn: 'ns' },
  };
  assert.deepEqual(inline(source), expected);
  assert.deepEqual(inline(source, ['Ephemeral', 'Persistent']), expected);
});

test('[INL-1] an inline volume that lives with its pod is named after both, and neither staged nor attached', () => {
  const expected = {
    driver: DRIVER,
    handle: ephemeralVolumeHandle('u-1', 'v'),
    specName: 'v',
    lifecycle: 'Ephemeral',
    block: false,
    attributes: {},
    fsType: '',
    accessModes: ['ReadWriteOnce'],
    mountOptions: [],
    readOnly: false,
    secrets: {},
  };
  assert.deepEqual(inline({}, ['Ephemeral']), expected);
  assert.deepEqual(inline({ volumeHandle: 'h', nodeStageSecretRef: { name: 's' } }, ['Ephemeral']), expected);
  assert.deepEqual(inline({ nodePublishSecretRef: {} }, ['Ephemeral'], ''), {
    ...expected,
    secrets: { publish: { name: '', namespace: '' } },
  });
});
