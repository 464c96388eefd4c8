// What fails beside the way from a claim to a mount: changes, deletion, snapshots, and what volumes depend on.

import {
  csiDrivers,
  persistentVolumeClaims,
  volumeAttributesClasses,
  volumeGroupSnapshotClasses,
  volumeGroupSnapshots,
  volumeSnapshotClasses,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import { type Asked, MAIN, type Situation, SMALL, type Stage } from './stage.ts';

export const otherSituations: readonly Situation[] = [
  {
    name: 'an expansion is larger than the driver allows',
    says: 'OUT_OF_RANGE: at most 2 GiB',
    async make(stage) {
      await stage.storageClass({ ControllerExpandVolume: 'OUT_OF_RANGE: at most 2 GiB' });
      await stage.boundClaim();
      await stage.expand('1Ti');
      return { kind: 'claim', name: 'data', namespace: stage.namespace };
    },
  },
  {
    name: 'the file system cannot be expanded on the node',
    says: 'INTERNAL: resize2fs: bad magic number',
    async make(stage) {
      await stage.storageClass({ NodeExpandVolume: 'INTERNAL: resize2fs: bad magic number' });
      await stage.boundClaim();
      await stage.runningPod('web', { nodeName: 'node-1' });
      await stage.expand('2Gi');
      return { kind: 'claim', name: 'data', namespace: stage.namespace };
    },
  },
  {
    name: 'the VolumeAttributesClass does not exist',
    says: 'VolumeAttributesClass absent does not exist',
    async make(stage) {
      await stage.storageClass();
      await stage.boundClaim();
      return modified(stage, 'absent');
    },
  },
  {
    name: 'the driver refuses the attributes of the VolumeAttributesClass',
    says: 'INVALID_ARGUMENT: iops must be at most 100',
    async make(stage) {
      await stage.storageClass({ ControllerModifyVolume: 'INVALID_ARGUMENT: iops must be at most 100' });
      await stage.boundClaim();
      await stage.create(volumeAttributesClasses, {
        metadata: { name: stage.className },
        driverName: MAIN,
        parameters: { iops: '5000' },
      });
      return modified(stage, stage.className);
    },
  },
  {
    name: 'a claim is deleted while a pod uses it',
    says: 'pod default/web still uses it',
    async make(stage) {
      await stage.storageClass();
      await stage.boundClaim();
      await stage.runningPod('web', { nodeName: 'node-1' });
      await stage.kube.delete(persistentVolumeClaims, { name: 'data', namespace: stage.namespace });
      return { kind: 'claim', name: 'data', namespace: stage.namespace };
    },
  },
  {
    name: 'a claim is deleted and has a finalizer that nobody removes',
    says: 'finalizer example.com/backup is on it',
    async make(stage) {
      await stage.storageClass();
      await stage.boundClaim();
      const at = { name: 'data', namespace: stage.namespace };
      await stage.kube.patch(
        persistentVolumeClaims,
        at,
        { metadata: { finalizers: ['example.com/backup'] } },
        { type: 'merge' },
      );
      await stage.kube.delete(persistentVolumeClaims, at);
      const isAlone = ({ metadata }: { metadata: { finalizers?: string[] } }) =>
        metadata.finalizers?.length === 1;
      await stage.until(persistentVolumeClaims, 'data', isAlone);
      return { kind: 'claim', ...at };
    },
  },
  {
    name: 'a volume is kept after its claim (policy Retain)',
    says: 'the policy Retain keeps it',
    async make(stage) {
      await stage.storageClass({}, { reclaimPolicy: 'Retain' });
      const name = await stage.boundClaim();
      await stage.kube.delete(persistentVolumeClaims, { name: 'data', namespace: stage.namespace });
      return { kind: 'volume', name };
    },
  },
  {
    name: 'the driver cannot delete the volume',
    says: 'FAILED_PRECONDITION: volume has 2 dependent clones',
    async make(stage) {
      await stage.storageClass({ DeleteVolume: 'FAILED_PRECONDITION: volume has 2 dependent clones' });
      const name = await stage.boundClaim();
      await stage.kube.delete(persistentVolumeClaims, { name: 'data', namespace: stage.namespace });
      return { kind: 'volume', name };
    },
  },
  {
    name: 'the class of a snapshot does not exist',
    says: 'VolumeSnapshotClass absent does not exist',
    async make(stage) {
      await stage.storageClass();
      await stage.boundClaim();
      return snapshot(stage, 'absent');
    },
  },
  {
    name: 'the class of a snapshot is for another driver',
    says: 'is of driver small.csi.test, the volume of main.csi.test',
    async make(stage) {
      await stage.storageClass();
      await stage.boundClaim();
      return snapshot(stage, await snapshotClass(stage, {}, SMALL));
    },
  },
  {
    name: 'the claim of a snapshot does not exist',
    says: 'its source, PersistentVolumeClaim default/data, does not exist',
    async make(stage) {
      return snapshot(stage, await snapshotClass(stage));
    },
  },
  {
    name: 'the driver cannot take the snapshot',
    state: 'waits',
    says: 'RESOURCE_EXHAUSTED: 100 of 100 snapshots',
    async make(stage) {
      await stage.storageClass();
      await stage.boundClaim();
      const parameters = { CreateSnapshot: 'RESOURCE_EXHAUSTED: 100 of 100 snapshots' };
      return snapshot(stage, await snapshotClass(stage, parameters));
    },
  },
  {
    name: 'no claim has the labels that a group snapshot selects',
    says: 'no claim in default has the labels that it selects',
    async make(stage) {
      return groupSnapshot(stage, await groupSnapshotClass(stage));
    },
  },
  {
    name: 'the driver cannot take the group snapshot',
    says: 'INVALID_ARGUMENT: volumes must be in one pool',
    async make(stage) {
      await stage.storageClass();
      await stage.boundClaim();
      const labels = { app: 'database' };
      const at = { name: 'data', namespace: stage.namespace };
      await stage.kube.patch(persistentVolumeClaims, at, { metadata: { labels } }, { type: 'merge' });
      const parameters = { CreateVolumeGroupSnapshot: 'INVALID_ARGUMENT: volumes must be in one pool' };
      return groupSnapshot(stage, await groupSnapshotClass(stage, parameters));
    },
  },
  {
    name: 'a node is not ready',
    says: 'Node quiet: does not answer',
    isLast: true,
    async make(stage) {
      await stage.lostNode('quiet', 'Unknown');
      return { kind: 'node', name: 'quiet' };
    },
  },
  {
    name: 'a driver is on no node',
    isLast: true,
    says: 'registered on no node',
    async make(stage) {
      const name = 'idle.csi.test';
      await stage.create(csiDrivers, { metadata: { name }, spec: { attachRequired: true } });
      return { kind: 'driver', name };
    },
  },
  {
    name: 'a class names a driver that is not here',
    says: 'no driver of that name is installed',
    async make(stage) {
      await stage.storageClass({}, { provisioner: 'other.csi.test' });
      return { kind: 'class', name: stage.className };
    },
  },
];

async function modified(stage: Stage, to: string): Promise<Asked> {
  const at = { name: 'data', namespace: stage.namespace };
  const patch = { spec: { volumeAttributesClassName: to } };
  await stage.kube.patch(persistentVolumeClaims, at, patch, { type: 'merge' });
  return { kind: 'claim', ...at };
}

async function snapshotClass(stage: Stage, parameters = {}, driver = MAIN): Promise<string> {
  const name = stage.className;
  await stage.create(volumeSnapshotClasses, {
    metadata: { name },
    driver,
    deletionPolicy: 'Delete',
    parameters,
  });
  return name;
}

async function snapshot(stage: Stage, volumeSnapshotClassName: string): Promise<Asked> {
  await stage.create(volumeSnapshots, {
    metadata: { name: 'before' },
    spec: { volumeSnapshotClassName, source: { persistentVolumeClaimName: 'data' } },
  });
  return { kind: 'snapshot', name: 'before', namespace: stage.namespace };
}

async function groupSnapshotClass(stage: Stage, parameters = {}): Promise<string> {
  const name = stage.className;
  const rest = { driver: MAIN, deletionPolicy: 'Delete', parameters };
  await stage.create(volumeGroupSnapshotClasses, { metadata: { name }, ...rest });
  return name;
}

async function groupSnapshot(stage: Stage, volumeGroupSnapshotClassName: string): Promise<Asked> {
  await stage.create(volumeGroupSnapshots, {
    metadata: { name: 'both' },
    spec: { volumeGroupSnapshotClassName, source: { selector: { matchLabels: { app: 'database' } } } },
  });
  return { kind: 'group', name: 'both', namespace: stage.namespace };
}
