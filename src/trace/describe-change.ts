// Describes the difference between two versions of an object. Only what matters to a volume's life: phases, bindings, finalizers,
// attachments, paths. Pure.

import type {
  Event,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  VolumeAttachment,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from '../api/kinds.ts';
import type { KubeObject } from '../api/object.ts';
import { ANN_PUBLISHED_VOLUMES, ANN_SELECTED_NODE, ANN_STORAGE_PROVISIONER } from '../api/well-known.ts';

/** A fact that is reported when it appears, changes or disappears. Evaluated for each version of each object: keep it cheap. */
interface Fact<T extends KubeObject> {
  name: string;
  of(object: T): string | undefined;
}

const claimFacts: readonly Fact<PersistentVolumeClaim>[] = [
  { name: 'phase', of: ({ status }) => status?.phase },
  { name: 'volume', of: ({ spec }) => spec.volumeName },
  { name: 'provisioner', of: ({ metadata }) => metadata.annotations?.[ANN_STORAGE_PROVISIONER] },
  { name: 'selected node', of: ({ metadata }) => metadata.annotations?.[ANN_SELECTED_NODE] },
  { name: 'asks for', of: ({ spec }) => spec.resources?.requests?.storage },
  { name: 'capacity', of: ({ status }) => status?.capacity?.storage },
];

const volumeFacts: readonly Fact<PersistentVolume>[] = [
  { name: 'phase', of: ({ status }) => status?.phase },
  {
    name: 'claim',
    of: ({ spec: { claimRef } }) => claimRef && `${claimRef.namespace}/${claimRef.name}`,
  },
  { name: 'handle', of: ({ spec }) => spec.csi?.volumeHandle },
  { name: 'capacity', of: ({ spec }) => spec.capacity?.storage },
];

const attachmentFacts: readonly Fact<VolumeAttachment>[] = [
  { name: 'node', of: ({ spec }) => spec.nodeName },
  {
    name: 'attached',
    of: ({ status }) => (status?.attached === undefined ? undefined : String(status.attached)),
  },
  { name: 'attach error', of: ({ status }) => status?.attachError?.message },
  { name: 'detach error', of: ({ status }) => status?.detachError?.message },
];

const podFacts: readonly Fact<Pod>[] = [
  { name: 'phase', of: ({ status }) => status?.phase },
  { name: 'node', of: ({ spec }) => spec.nodeName },
  { name: 'published', of: ({ metadata }) => metadata.annotations?.[ANN_PUBLISHED_VOLUMES] },
  {
    // Conditions that fail together say the same.
    name: 'waits',
    of: ({ status }) =>
      status?.conditions?.find((condition) => condition.status === 'False' && condition.message)?.message,
  },
];

const readiness = (ready: boolean | undefined): string | undefined =>
  ready === undefined ? undefined : String(ready);

const snapshotFacts: readonly Fact<VolumeSnapshot>[] = [
  { name: 'of claim', of: ({ spec }) => spec.source.persistentVolumeClaimName },
  { name: 'content', of: ({ status }) => status?.boundVolumeSnapshotContentName },
  { name: 'ready', of: ({ status }) => readiness(status?.readyToUse) },
  { name: 'error', of: ({ status }) => status?.error?.message },
];

const contentFacts: readonly Fact<VolumeSnapshotContent>[] = [
  { name: 'handle', of: ({ status }) => status?.snapshotHandle },
  { name: 'ready', of: ({ status }) => readiness(status?.readyToUse) },
  { name: 'error', of: ({ status }) => status?.error?.message },
];

const groupFacts: readonly Fact<VolumeGroupSnapshot>[] = [
  { name: 'content', of: ({ status }) => status?.boundVolumeGroupSnapshotContentName },
  { name: 'ready', of: ({ status }) => readiness(status?.readyToUse) },
  { name: 'error', of: ({ status }) => status?.error?.message },
];

const groupContentFacts: readonly Fact<VolumeGroupSnapshotContent>[] = [
  { name: 'handle', of: ({ status }) => status?.volumeGroupSnapshotHandle },
  { name: 'ready', of: ({ status }) => readiness(status?.readyToUse) },
  { name: 'error', of: ({ status }) => status?.error?.message },
];

// biome-ignore lint/suspicious/noExplicitAny: each list is for the kind that it is listed under
const FACTS: Readonly<Record<string, readonly Fact<any>[]>> = {
  PersistentVolumeClaim: claimFacts,
  PersistentVolume: volumeFacts,
  VolumeAttachment: attachmentFacts,
  Pod: podFacts,
  VolumeSnapshot: snapshotFacts,
  VolumeSnapshotContent: contentFacts,
  VolumeGroupSnapshot: groupFacts,
  VolumeGroupSnapshotContent: groupContentFacts,
};

/** Empty when nothing that matters changed. */
export function describeChange(before: KubeObject | undefined, after: KubeObject | undefined): string[] {
  if (after === undefined) return [];
  if (after.kind === 'Event') return describeEvent(before as Event | undefined, after as Event);
  const told: string[] = [];
  const gone: string[] = [];
  for (const { name, of } of FACTS[after.kind] ?? []) {
    const is = of(after);
    const was = before && of(before);
    if (is === was) continue;
    if (is === undefined) gone.push(`${name}: none`);
    else told.push(is === '' ? name : `${name}: ${is}`);
  }
  if (after.metadata.deletionTimestamp !== undefined && before?.metadata.deletionTimestamp === undefined) {
    told.push('deletion asked for');
  }
  const was = before?.metadata.finalizers ?? [];
  const is = after.metadata.finalizers ?? [];
  if (was !== is) {
    for (const finalizer of is) if (!was.includes(finalizer)) told.push(`finalizer ${finalizer}`);
    for (const finalizer of was) if (!is.includes(finalizer)) gone.push(`finalizer ${finalizer}: none`);
  }
  return gone.length === 0 ? told : [...told, ...gone];
}

/** Message and count of an Event; its deletion is not described. */
function describeEvent(before: Event | undefined, after: Event): string[] {
  const { reason = 'event', message, count = 1 } = after;
  return [
    ...(message !== undefined && message !== before?.message ? [`${reason}: ${message}`] : []),
    ...(count > 1 && count !== before?.count ? [`times: ${count}`] : []),
  ];
}
