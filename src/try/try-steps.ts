// The life of a volume, step by step, on any driver: created, used, expanded, copied, moved, deleted.

import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { parseQuantity } from '../api/quantity.ts';
import { NAMESPACE, onNode } from '../demo/story-objects.ts';
import {
  bound,
  CLAIM,
  called,
  copied,
  holdsText,
  POD,
  removed,
  removePod,
  startPod,
} from './step-actions.ts';
import { needsOfController, needsOfNode, StepFailure, type TryStep } from './try-step.ts';

const create: TryStep = {
  title: 'create a volume',
  after: [],
  calls: ['CreateVolume'],
  lacks: needsOfController('CREATE_DELETE_VOLUME'),
  async run(world) {
    await world.kube.create(persistentVolumeClaims, world.claim(CLAIM));
    // A class that waits for a consumer needs the pod first.
    if (world.isDelayed) await world.createPod(POD, CLAIM);
    await bound(world, CLAIM);
    const { spec } = await world.volumeOf(CLAIM);
    return `volume ${spec.csi?.volumeHandle}`;
  },
};

const attach: TryStep = {
  title: 'attach it to a node',
  after: [create.title],
  calls: ['ControllerPublishVolume'],
  lacks: needsOfController('PUBLISH_UNPUBLISH_VOLUME'),
  async run(world) {
    await startPod(world);
    const running = await world.until(pods, POD, (pod) => Boolean(pod?.spec.nodeName));
    const volume = (await world.volumeOf(CLAIM)).metadata.name;
    const { reader } = world.options.cluster.server;
    await world.untilHolds(
      (changed) => reader.subscribe(volumeAttachments, changed),
      () =>
        [...reader.list(volumeAttachments)].some(
          ({ spec, status }) => spec.source.persistentVolumeName === volume && status?.attached === true,
        ),
    );
    return `to ${running?.spec.nodeName}`;
  },
};

const stage: TryStep = {
  title: 'stage it on the node',
  after: [create.title],
  calls: ['NodeStageVolume'],
  lacks: needsOfNode('STAGE_UNSTAGE_VOLUME'),
  async run(world) {
    await startPod(world);
    await called(world, 'NodeStageVolume');
    return undefined;
  },
};

const publish: TryStep = {
  title: 'publish it to a pod',
  after: [create.title],
  calls: ['NodePublishVolume', 'NodeStageVolume', 'ControllerPublishVolume'],
  async run(world) {
    await startPod(world);
    world.path = await world.published(POD);
    return `at ${world.path}`;
  },
};

const write: TryStep = {
  title: 'write a file and read it',
  after: [publish.title],
  calls: [],
  async run(world) {
    const { uid = '' } = (await world.kube.get(persistentVolumeClaims, { namespace: NAMESPACE, name: CLAIM }))
      .metadata;
    await world.write(`written by berth try to ${uid}\n`);
    await holdsText(world, world.path);
    return `${world.text.length} bytes`;
  },
};

const expand: TryStep = {
  title: 'expand it',
  after: [publish.title],
  calls: ['ControllerExpandVolume', 'NodeExpandVolume'],
  lacks({ can, options }) {
    if (!can.controller.has('EXPAND_VOLUME') && !can.node.has('EXPAND_VOLUME')) {
      return 'the driver does not have EXPAND_VOLUME';
    }
    return options.storageClass.allowVolumeExpansion
      ? undefined
      : 'the class has allowVolumeExpansion: false';
  },
  async run(world) {
    const isOnline = world.can.plugin.volumeExpansion.has('ONLINE');
    // Most drivers do not report VolumeExpansion; only OFFLINE alone means that the volume must not be in use.
    const isOffline = !isOnline && world.can.plugin.volumeExpansion.has('OFFLINE');
    if (isOffline) await removePod(world);
    world.sizeBytes *= 2n;
    const storage = String(world.sizeBytes);
    const at = { namespace: NAMESPACE, name: CLAIM };
    const request = { spec: { resources: { requests: { storage } } } };
    await world.kube.patch(persistentVolumeClaims, at, request, { type: 'merge' });
    if (isOffline) {
      await called(world, 'ControllerExpandVolume');
      await startPod(world);
      world.path = await world.published(POD);
    }
    await world.until(persistentVolumeClaims, CLAIM, (claim) => {
      const capacity = claim?.status?.capacity?.storage;
      return capacity !== undefined && parseQuantity(capacity).nano >= parseQuantity(storage).nano;
    });
    if (world.text !== '') await holdsText(world, world.path);
    return `to ${world.sizeBytes} bytes, ${isOffline ? 'while no pod used it' : 'while the pod used it'}`;
  },
};

const snapshot: TryStep = {
  title: 'snapshot it',
  after: [create.title],
  calls: ['CreateSnapshot'],
  lacks: needsOfController('CREATE_DELETE_SNAPSHOT'),
  async run(world) {
    const { snapshotClass } = world.options;
    await world.kube.create(volumeSnapshots, {
      metadata: { name: 'try', namespace: NAMESPACE },
      spec: {
        source: { persistentVolumeClaimName: CLAIM },
        ...(snapshotClass !== undefined && { volumeSnapshotClassName: snapshotClass }),
      },
    });
    await world.until(volumeSnapshots, 'try', (object) => object?.status?.readyToUse === true);
    return undefined;
  },
};

const restore: TryStep = {
  title: 'restore the snapshot to a new volume',
  after: [snapshot.title, write.title],
  calls: ['CreateVolume', 'ControllerPublishVolume', 'NodeStageVolume', 'NodePublishVolume'],
  lacks: needsOfController('CREATE_DELETE_SNAPSHOT'),
  run: (world) =>
    copied(world, 'try-restored', {
      apiGroup: 'snapshot.storage.k8s.io',
      kind: 'VolumeSnapshot',
      name: 'try',
    }),
};

const clone: TryStep = {
  title: 'clone it',
  after: [write.title],
  calls: ['CreateVolume', 'ControllerPublishVolume', 'NodeStageVolume', 'NodePublishVolume'],
  lacks: needsOfController('CLONE_VOLUME'),
  run: (world) => copied(world, 'try-cloned', { kind: 'PersistentVolumeClaim', name: CLAIM }),
};

const move: TryStep = {
  title: 'move it to another node',
  after: [write.title],
  calls: [
    'NodeUnpublishVolume',
    'NodeUnstageVolume',
    'ControllerUnpublishVolume',
    'ControllerPublishVolume',
    'NodeStageVolume',
    'NodePublishVolume',
  ],
  lacks: ({ nodeNames }) =>
    nodeNames.length > 1
      ? undefined
      : 'the driver is on one node; give the socket of a second with --driver CONTROLLER,NODE-1,NODE-2, or a second --exec',
  async run(world) {
    const from = (await world.kube.get(pods, { namespace: NAMESPACE, name: POD })).spec.nodeName ?? '';
    const to = world.nodeNames.find((name) => name !== from) ?? '';
    await removePod(world);
    await world.createPod(POD, CLAIM, onNode(to));
    world.path = await world.published(POD);
    await holdsText(world, world.path);
    return `from ${from} to ${to}, with its data`;
  },
};

const remove: TryStep = {
  title: 'delete everything',
  after: [create.title],
  calls: [
    'NodeUnpublishVolume',
    'NodeUnstageVolume',
    'ControllerUnpublishVolume',
    'DeleteSnapshot',
    'DeleteVolume',
  ],
  async run(world) {
    const { reader } = world.options.cluster.server;
    const handles = [...reader.list(persistentVolumes)].map(({ spec }) => spec.csi?.volumeHandle ?? '');
    for (const resource of [
      pods,
      volumeSnapshots,
      persistentVolumeClaims,
    ] as readonly Resource<KubeObject>[]) {
      await Promise.all([...reader.list(resource)].map((object) => removed(world, resource, object)));
    }
    for (const resource of [
      volumeAttachments,
      volumeSnapshotContents,
      persistentVolumes,
    ] as readonly Resource<KubeObject>[]) {
      await Promise.all(
        [...reader.list(resource)].map(({ metadata }) =>
          world.until(resource, metadata.name, (object) => object === undefined),
        ),
      );
    }
    const left = (await world.listVolumes()).filter((handle) => handles.includes(handle));
    if (left.length > 0) {
      throw new StepFailure(`DeleteVolume succeeded, but ListVolumes still has ${left.join(', ')}`);
    }
    return handles.length === 1 ? '1 volume' : `${handles.length} volumes`;
  },
};

export const trySteps: readonly TryStep[] = [
  create,
  attach,
  stage,
  publish,
  write,
  expand,
  snapshot,
  restore,
  clone,
  move,
  remove,
];
