// Pods whose volumes do not come to them.

import { csiNodes, nodes, persistentVolumeClaims, persistentVolumes, pods } from '../../src/api/kinds.ts';
import { delayed, MAIN, type Situation, SMALL, secretParameters, ZONE } from './stage.ts';

/** A pod with a bound claim whose class makes the driver fail later; it says what the driver answers, unless told otherwise. */
const failingPod = (
  name: string,
  parameters: Record<string, string>,
  says = Object.values(parameters)[0] ?? '',
): Situation => ({
  name,
  says,
  async make(stage) {
    await stage.storageClass(parameters);
    await stage.boundClaim();
    return stage.pod('web', { nodeName: 'node-1' });
  },
});

export const podSituations: readonly Situation[] = [
  {
    name: 'the claim of a pod does not exist',
    says: 'PersistentVolumeClaim default/data: does not exist',
    make: (stage) => stage.pod('web'),
  },
  failingPod('the driver cannot attach', {
    ControllerPublishVolume: 'INTERNAL: the hypervisor refused the disk',
  }),
  failingPod('the node has no room for another attachment', {
    ControllerPublishVolume: 'RESOURCE_EXHAUSTED: instance i-1 has 8 of 8 disks',
  }),
  failingPod(
    'the attach secret does not exist',
    secretParameters('controller-publish', 'absent'),
    'secret default/absent does not exist',
  ),
  failingPod('the driver cannot stage the volume', {
    NodeStageVolume: 'INTERNAL: mount failed: wrong fs type, bad option, bad superblock on /dev/sdx',
  }),
  failingPod('the driver cannot publish the volume', {
    NodePublishVolume: 'PERMISSION_DENIED: access denied by server',
  }),
  failingPod(
    'the stage secret does not exist',
    secretParameters('node-stage', 'absent'),
    'secret default/absent does not exist',
  ),
  {
    name: 'another pod has the volume on another node',
    says: 'still attached to node-1, and pod default/old has it there',
    async make(stage) {
      await stage.storageClass();
      await stage.boundClaim();
      await stage.runningPod('old', { nodeName: 'node-1' });
      return stage.pod('web', { nodeName: 'node-2' });
    },
  },
  {
    name: 'another pod has the volume on another node, and its expansion fails',
    says: 'still attached to node-1, and pod default/old has it there',
    async make(stage) {
      await stage.storageClass({ ControllerExpandVolume: 'OUT_OF_RANGE: at most 2 GiB' });
      await stage.boundClaim();
      await stage.runningPod('old', { nodeName: 'node-1' });
      await stage.expand('1Ti');
      return stage.pod('web', { nodeName: 'node-2' });
    },
  },
  {
    name: 'the volume cannot be detached from the node that had it',
    says: 'INTERNAL: the disk is busy',
    async make(stage) {
      await stage.storageClass({ ControllerUnpublishVolume: 'INTERNAL: the disk is busy' });
      await stage.boundClaim();
      await stage.runningPod('old', { nodeName: 'node-1' });
      await stage.kube.delete(pods, { name: 'old', namespace: stage.namespace });
      return stage.pod('web', { nodeName: 'node-2' });
    },
  },
  {
    name: 'the node that has the volume is not ready',
    says: 'silent, which does not answer',
    isLast: true,
    async make(stage) {
      await stage.storageClass();
      await stage.boundClaim();
      await stage.lostNode('silent', 'Unknown');
      await stage.holdOn('silent');
      return stage.pod('web', { nodeName: 'node-2' });
    },
  },
  {
    name: 'the node that has the volume was deleted',
    says: 'ghost, a node that was deleted',
    isLast: true,
    async make(stage) {
      await stage.storageClass({ ControllerUnpublishVolume: 'INTERNAL: no instance "ghost"' });
      await stage.boundClaim();
      await stage.lostNode('ghost', 'True');
      await stage.holdOn('ghost');
      await stage.kube.delete(nodes, { name: 'ghost' });
      return stage.pod('web', { nodeName: 'node-2' });
    },
  },
  {
    name: 'the node of a pod was deleted',
    says: 'on node lost, which was deleted',
    isLast: true,
    async make(stage) {
      await stage.storageClass();
      await stage.boundClaim();
      await stage.lostNode('lost', 'True');
      await stage.holdOn('lost');
      await stage.kube.delete(nodes, { name: 'lost' });
      return { kind: 'pod', name: 'old', namespace: stage.namespace };
    },
  },
  {
    name: 'the driver is not on the node of a pod',
    says: 'is not on node node-2, only on node-1',
    async make(stage) {
      await stage.storageClass({}, { provisioner: SMALL });
      await stage.boundClaim();
      return stage.pod('web', { nodeName: 'node-2' });
    },
  },
  {
    name: 'the node that was selected for a claim has no driver',
    state: 'waits',
    says: 'not registered on selected node empty',
    isLast: true,
    async make(stage) {
      await stage.storageClass({}, delayed);
      return stage.claim('data', {}).then(async (asked) => {
        await stage.lostNode('empty', 'True');
        await stage.kube.delete(csiNodes, { name: 'empty' });
        await stage.kube.patch(
          persistentVolumeClaims,
          { name: 'data', namespace: stage.namespace },
          { metadata: { annotations: { 'volume.kubernetes.io/selected-node': 'empty' } } },
          { type: 'merge' },
        );
        return asked;
      });
    },
  },
  {
    name: 'a ReadWriteOncePod volume has a pod already',
    says: 'ReadWriteOncePod access mode already in-use',
    async make(stage) {
      await stage.storageClass();
      await stage.boundClaim('data', { accessModes: ['ReadWriteOncePod'] });
      await stage.runningPod('old');
      return stage.pod('web');
    },
  },
  {
    name: 'no node is where the volume is',
    says: "didn't match PersistentVolume's node affinity",
    async make(stage) {
      await stage.create(persistentVolumes, {
        metadata: { name: stage.className },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'manual',
          csi: { driver: MAIN, volumeHandle: `h-${stage.className}` },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: 'In', values: ['moon'] }] }],
            },
          },
        },
      });
      await stage.boundClaim('data', { storageClassName: 'manual', volumeName: stage.className });
      return stage.pod('web');
    },
  },
  {
    name: 'the node has as many volumes as the driver allows',
    says: 'exceed max volume count',
    async make(stage) {
      await stage.storageClass({}, { provisioner: SMALL });
      await stage.boundClaim();
      await stage.runningPod('first', { nodeName: 'node-1' });
      await stage.boundClaim('second');
      return stage.pod('web', { nodeSelector: { 'kubernetes.io/hostname': 'node-1' } }, 'second');
    },
  },
  {
    name: 'no node fits the selector of a pod',
    says: "didn't match Pod's node affinity/selector",
    async make(stage) {
      await stage.storageClass();
      await stage.boundClaim();
      return stage.pod('web', { nodeSelector: { disk: 'fast' } });
    },
  },
  {
    name: 'a ConfigMap of the pod does not exist',
    says: 'configmap "settings" not found',
    make: (stage) =>
      stage.pod('web', { nodeName: 'node-1', volumes: [{ name: 'v', configMap: { name: 'settings' } }] }),
  },
  {
    name: 'a Secret of the pod does not exist',
    says: 'secret "key" not found',
    make: (stage) =>
      stage.pod('web', { nodeName: 'node-1', volumes: [{ name: 'v', secret: { secretName: 'key' } }] }),
  },
];
