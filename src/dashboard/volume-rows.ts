// The rows of volumes and pods. Pure.

import type { PersistentVolume, PersistentVolumeClaim, Pod, VolumeAttachment } from '../api/kinds.ts';
import { type KubeObject, keyOf } from '../api/object.ts';
import { claimNameOf } from '../api/volumes.ts';
import type { DriverName, VolumeHandle } from '../csi/names/driver-name.ts';
import { attachmentsOf, podsOf, volumeNamed } from '../why/fact-index.ts';
import type { Facts } from '../why/facts.ts';
import { type Judged, type Judgement, WELL, worstOf } from './judgement.ts';
import type { PodRow, VolumeRow } from './page-messages.ts';

/** A row is as well as the worst of its claim, its volume, its attachments and the pods that use it. */
export function volumeRows(facts: Facts, judgement: Judgement): VolumeRow[] {
  const taken = new Set<string>();
  const ofClaims = facts.claims.map((claim) => {
    const volume = volumeNamed(facts, claim.spec.volumeName);
    if (volume) taken.add(volume.metadata.name);
    const pods = podsOf(facts, claim);
    const attachments = volume ? attachmentsOf(facts, volume) : [];
    return rowOf({
      subject: 'claim',
      of: claim,
      judged: worstOf([
        judgement.of('claim', claim),
        volume ? judgement.of('volume', volume) : WELL,
        ...pods.map((pod) => judgement.of('pod', pod)),
        ...attachments.map(judgedAttachment),
      ]),
      phase: claim.status?.phase ?? 'Pending',
      volume,
      className: claim.spec.storageClassName,
      size: claim.status?.capacity?.storage ?? claim.spec.resources?.requests?.storage,
      accessModes: claim.spec.accessModes,
      pods,
      attachments,
    });
  });
  const ofVolumes = facts.volumes
    .filter(({ metadata }) => !taken.has(metadata.name))
    .map((volume) => {
      const attachments = attachmentsOf(facts, volume);
      return rowOf({
        subject: 'volume',
        of: volume,
        judged: worstOf([judgement.of('volume', volume), ...attachments.map(judgedAttachment)]),
        phase: volume.status?.phase ?? 'Pending',
        volume,
        className: volume.spec.storageClassName,
        size: volume.spec.capacity?.storage,
        accessModes: volume.spec.accessModes,
        pods: [],
        attachments,
      });
    });
  return [...ofClaims, ...ofVolumes];
}

/** Pods with volumes only. */
export function podRows(facts: Facts, judgement: Judgement): PodRow[] {
  return facts.pods.flatMap((pod) => {
    const volumes = (pod.spec.volumes ?? []).flatMap((volume): PodRow['volumes'] => {
      const claim = claimNameOf(pod, volume);
      if (claim !== undefined) return [{ claim }];
      return volume.csi ? [{ driver: volume.csi.driver as DriverName }] : [];
    });
    if (volumes.length === 0) return [];
    const { metadata, spec } = pod;
    return {
      id: keyOf(pod),
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      ...judgement.of('pod', pod),
      phase: pod.status?.phase ?? 'Pending',
      isGoing: isGoing(pod),
      createdMs: Date.parse(metadata.creationTimestamp),
      ...(spec.nodeName && { node: spec.nodeName }),
      volumes,
    };
  });
}

/** An attachment that is on its way, either way. Its error, if any, is explained with the pod or the node. */
function judgedAttachment(attachment: VolumeAttachment): Judged {
  const { attached, isGoing: isDetaching, error } = attachmentRow(attachment);
  if (attached && !isDetaching) return WELL;
  const words = error === undefined ? '' : `: ${error}`;
  return {
    state: 'waits',
    says: `attachment to ${attachment.spec.nodeName}: ${isDetaching ? 'is being detached' : 'is not attached yet'}${words}`,
  };
}

function rowOf(row: {
  subject: 'claim' | 'volume';
  of: PersistentVolumeClaim | PersistentVolume;
  judged: Judged;
  phase: string;
  volume: PersistentVolume | undefined;
  className: string | undefined;
  size: string | undefined;
  accessModes: readonly string[] | undefined;
  pods: readonly Pod[];
  attachments: readonly VolumeAttachment[];
}): VolumeRow {
  const { subject, of, judged, phase, volume, className, size } = row;
  const { namespace, name, creationTimestamp } = of.metadata;
  const csi = volume?.spec.csi;
  return {
    id: `${subject} ${keyOf(of)}`,
    subject,
    ...(namespace && { namespace }),
    name,
    ...judged,
    phase,
    isGoing: isGoing(of),
    createdMs: Date.parse(creationTimestamp),
    ...(size !== undefined && { size }),
    ...(className && { className }),
    accessModes: row.accessModes ?? [],
    ...(volume && { volume: volume.metadata.name }),
    ...(csi && { driver: csi.driver as DriverName, handle: csi.volumeHandle as VolumeHandle }),
    attachments: row.attachments.map(attachmentRow),
    pods: row.pods.map((pod) => ({
      name: pod.metadata.name,
      ...(pod.spec.nodeName && { node: pod.spec.nodeName }),
      phase: pod.status?.phase ?? 'Pending',
      isMounted: hasMounted(pod),
    })),
  };
}

/** An error that is kept from before the last success is none: `attachError` of an attached volume. */
function attachmentRow(attachment: VolumeAttachment): VolumeRow['attachments'][number] {
  const { metadata, spec, status } = attachment;
  const attached = status?.attached === true;
  const isDetaching = isGoing(attachment);
  const error = isDetaching
    ? status?.detachError?.message
    : attached
      ? undefined
      : status?.attachError?.message;
  return {
    name: metadata.name,
    node: spec.nodeName,
    attached,
    isGoing: isDetaching,
    ...(error !== undefined && { error }),
  };
}

/** Reasons for which a container waits before its volumes are mounted. */
const BEFORE_MOUNTS = new Set(['ContainerCreating', 'PodInitializing', undefined]);

/** A kubelet starts containers, and pulls their images, only once all volumes are mounted. */
function hasMounted({ status }: Pod): boolean {
  if (status?.phase === 'Running') return true;
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return containers.some(
    ({ state }) =>
      state?.running !== undefined ||
      state?.terminated !== undefined ||
      !BEFORE_MOUNTS.has(state?.waiting?.reason),
  );
}

const isGoing = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;
