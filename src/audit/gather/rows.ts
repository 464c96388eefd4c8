// From objects to rows. Pure.

import type {
  CSINode,
  Event,
  Lease,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  VolumeAttachment,
} from '../../api/kinds.ts';
import { type KubeObject, keyOf } from '../../api/object.ts';
import { quantityToBytes } from '../../api/quantity.ts';
import {
  claimNameOf,
  driverOnNode,
  ephemeralVolumeHandle,
  inlineSourceOf,
  provisionerOf,
  storageClassOf,
  uniqueVolumeName,
} from '../../api/volumes.ts';
import { ANN_ATTACHED_NODE_ID, ANN_ATTACHED_VOLUME, ANN_PROVISIONING_INTENTS } from '../../api/well-known.ts';
import type {
  AttachmentRow,
  ClaimRow,
  ClassRow,
  IntentRow,
  NodeRow,
  ObjectRow,
  PodRow,
  ProvisioningEvent,
  VolumeRow,
} from '../facts.ts';

const NONE: readonly string[] = [];

export function objectRow(object: KubeObject): ObjectRow {
  const { uid, creationTimestamp, deletionTimestamp, finalizers = NONE } = object.metadata;
  return {
    key: keyOf(object),
    uid,
    createdMs: Date.parse(creationTimestamp),
    ...(deletionTimestamp !== undefined && { deletedMs: Date.parse(deletionTimestamp) }),
    finalizers,
  };
}

/** Parameters and attributes by which drivers tell clusters apart: `clusterID`, `cluster-name`, `kubernetes.io/cluster/…`. */
const CLUSTER_KEY = /cluster[-_.]?(?:id|name|uid)$|^kubernetes\.io\/cluster\//i;

export function clusterMarks(map: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => CLUSTER_KEY.test(key)));
}

export const volumeRow =
  (driver: string) =>
  (volume: PersistentVolume): VolumeRow | undefined => {
    const { spec, status } = volume;
    if (spec.csi?.driver !== driver) return undefined;
    const { name, namespace } = spec.csi.controllerPublishSecretRef ?? {};
    const { lastPhaseTransitionTime } = (status ?? {}) as { lastPhaseTransitionTime?: string };
    return {
      ...objectRow(volume),
      handle: spec.csi.volumeHandle,
      phase: status?.phase ?? 'Pending',
      policy: spec.persistentVolumeReclaimPolicy ?? 'Retain',
      bytes: quantityToBytes(spec.capacity?.storage ?? '0'),
      claim: spec.claimRef ? `${spec.claimRef.namespace}/${spec.claimRef.name}` : '',
      claimUid: spec.claimRef?.uid ?? '',
      className: storageClassOf(volume) ?? '',
      ...(lastPhaseTransitionTime && { phaseSinceMs: Date.parse(lastPhaseTransitionTime) }),
      ...(name && namespace && { publishSecret: { name, namespace } }),
      clusterMarks: clusterMarks(spec.csi.volumeAttributes),
    };
  };

/** Sources of pods that are no storage. */
const NO_STORAGE = new Set([
  'name',
  'configMap',
  'secret',
  'projected',
  'emptyDir',
  'downwardAPI',
  'hostPath',
  'persistentVolumeClaim',
  'ephemeral',
  'csi',
  'image',
]);
const NO_SOURCE = new Set(['csi', 'claimRef', 'capacity', 'accessModes', 'nodeAffinity', 'mountOptions']);

/** The texts of a PersistentVolume's source that is not of CSI, such as awsElasticBlockStore. */
export function otherSourceOf({ spec }: PersistentVolume): string[] | undefined {
  return spec.csi ? undefined : textsIn(spec, NO_SOURCE);
}

/** The same of a pod's volumes. */
export function otherPodSources({ spec }: Pod): string[] | undefined {
  const texts = (spec.volumes ?? []).flatMap((volume) => textsIn(volume, NO_STORAGE));
  return texts.length > 0 ? texts : undefined;
}

function textsIn(value: object, left: ReadonlySet<string>): string[] {
  return Object.entries(value).flatMap(([key, each]) => {
    if (left.has(key) || typeof each !== 'object' || each === null) return [];
    return Object.values(each).filter((text): text is string => typeof text === 'string');
  });
}

export function claimRow(claim: PersistentVolumeClaim): ClaimRow {
  const { spec, status, metadata } = claim;
  const source = spec.dataSourceRef ?? spec.dataSource;
  const sourceKey = source ? `${metadata.namespace}/${source.name}` : '';
  return {
    ...objectRow(claim),
    phase: status?.phase ?? 'Pending',
    volumeName: spec.volumeName ?? '',
    provisioner: provisionerOf(claim) ?? '',
    sourceClaim: source?.kind === 'PersistentVolumeClaim' ? sourceKey : '',
    sourceSnapshot: source?.kind === 'VolumeSnapshot' ? sourceKey : '',
  };
}

export const attachmentRow =
  (driver: string) =>
  (attachment: VolumeAttachment): AttachmentRow | undefined => {
    const { spec, status, metadata } = attachment;
    if (spec.attacher !== driver) return undefined;
    const inline = inlineSourceOf(attachment)?.csi.volumeHandle;
    return {
      ...objectRow(attachment),
      nodeName: spec.nodeName,
      nodeId: metadata.annotations?.[ANN_ATTACHED_NODE_ID] ?? '',
      volumeName: spec.source.persistentVolumeName ?? '',
      handle: inline ?? recordedHandle(metadata.annotations?.[ANN_ATTACHED_VOLUME]),
      isAttached: status?.attached === true,
    };
  };

function recordedHandle(text: string | undefined): string {
  try {
    const { handle } = JSON.parse(text ?? '{}') as { handle?: unknown };
    return typeof handle === 'string' ? handle : '';
  } catch {
    return '';
  }
}

export const nodeRow =
  (driver: string, csiNodes: ReadonlyMap<string, CSINode>) =>
  (node: Node): NodeRow => {
    const csiNode = csiNodes.get(node.metadata.name);
    const prefix = uniqueVolumeName(driver, '');
    return {
      name: node.metadata.name,
      nodeId: driverOnNode(driver, { csiNode, node })?.nodeId ?? '',
      inUse: new Set(
        (node.status?.volumesInUse ?? [])
          .filter((name) => name.startsWith(prefix))
          .map((name) => name.slice(prefix.length)),
      ),
    };
  };

export const podRow =
  (driver: string) =>
  (pod: Pod): PodRow | undefined => {
    const volumes = pod.spec.volumes ?? [];
    const claims = volumes.flatMap((volume) => {
      const name = claimNameOf(pod, volume);
      return name === undefined ? [] : [`${pod.metadata.namespace}/${name}`];
    });
    const handles = volumes.flatMap(({ csi, name }) => {
      if (csi?.driver !== driver) return [];
      return [csi.volumeHandle ?? ephemeralVolumeHandle(pod.metadata.uid, name)];
    });
    // Also one that has ended: it holds its claims until it is deleted.
    if (claims.length === 0 && handles.length === 0) return undefined;
    return { key: keyOf(pod), nodeName: pod.spec.nodeName ?? '', claims, handles };
  };

/** Of a StorageClass (`provisioner`) or a VolumeSnapshotClass (`driver`). */
export const classRow =
  (driver: string) =>
  (given: KubeObject): ClassRow | undefined => {
    const {
      provisioner,
      driver: own,
      parameters,
      reclaimPolicy,
      deletionPolicy,
    } = given as KubeObject & {
      provisioner?: string;
      driver?: string;
      parameters?: Record<string, string>;
      reclaimPolicy?: string;
      deletionPolicy?: string;
    };
    if ((provisioner ?? own) !== driver) return undefined;
    return {
      name: given.metadata.name,
      policy: deletionPolicy ?? reclaimPolicy ?? 'Delete',
      clusterMarks: clusterMarks(parameters),
    };
  };

/** Claims whose CreateVolume is recorded as under way; undefined when the record cannot be read. */
export function intentRows(lease: Lease, driver: string): IntentRow[] | undefined {
  const text = lease.metadata.annotations?.[ANN_PROVISIONING_INTENTS];
  if (text === undefined || lease.spec?.holderIdentity !== driver) return [];
  try {
    const { intents } = JSON.parse(text) as { intents?: unknown };
    if (!Array.isArray(intents)) return undefined;
    return intents.map(({ namespace, name, uid }) => ({ claim: `${namespace}/${name}`, uid: String(uid) }));
  } catch {
    return undefined;
  }
}

/** Only events about a claim's volume, whoever sent them: they also tell which claims this cluster had. */
export function provisioningEvent({
  involvedObject: about,
  reason = '',
  lastTimestamp,
  eventTime,
  firstTimestamp,
}: Event): ProvisioningEvent | undefined {
  if (about?.kind !== 'PersistentVolumeClaim' || !about.uid) return undefined;
  const at = lastTimestamp ?? eventTime ?? firstTimestamp;
  return {
    claim: `${about.namespace}/${about.name}`,
    uid: about.uid,
    reason,
    atMs: at ? Date.parse(String(at)) : 0,
  };
}
