// What an audit reports: one finding for each thing that is not as it should be, with the evidence and what would be done.

/** In the order in which a plan works them off: what holds something comes before what is held. */
export const FINDING_KINDS = [
  'attachment-leaked',
  'attachment-missing',
  'attachment-stale',
  'finalizer-stuck',
  'snapshot-missing',
  'snapshot-leaked',
  'volume-missing',
  'volume-leaked',
  'volume-released',
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/**
 * `leak`: certain. `doubt`: somebody has to judge, for example because it may be another cluster's. `cost`: kept on purpose,
 * and it takes room.
 */
export type Severity = 'leak' | 'doubt' | 'cost';

/** This very object, and no later one of the same name. Its components may write to it meanwhile. */
export interface ObjectTarget {
  readonly plural: string;
  readonly key: string;
  readonly uid: string;
}

export type Action =
  | { readonly do: 'DeleteVolume'; readonly volumeId: string }
  | { readonly do: 'DeleteSnapshot'; readonly snapshotId: string }
  | {
      readonly do: 'DeleteVolumeGroupSnapshot';
      readonly groupSnapshotId: string;
      readonly snapshotIds: readonly string[];
    }
  | {
      readonly do: 'ControllerUnpublishVolume';
      readonly volumeId: string;
      readonly nodeId: string;
      readonly secret?: { readonly name: string; readonly namespace: string };
    }
  | { readonly do: 'delete-object'; readonly object: ObjectTarget }
  | {
      readonly do: 'remove-finalizers';
      readonly object: ObjectTarget;
      readonly finalizers: readonly string[];
    };

export interface Finding {
  /** `KIND/SUBJECT`: the same at every look. */
  readonly id: string;
  readonly kind: FindingKind;
  readonly severity: Severity;
  /** `volume abc`, `PersistentVolume pv-1`. */
  readonly subject: string;
  readonly says: string;
  readonly evidence: readonly string[];
  /** What it occupies. */
  readonly bytes?: bigint;
  /** Since when it has been so, at least; undefined where nobody recorded it. */
  readonly sinceMs?: number;
  /** What the judgement rests on. A finding counts only if it is the same at the second look. */
  readonly fingerprint: string;
  /** Absent: nothing is ever done about it by this program. */
  readonly action?: Action;
  /** What to do by hand, or why nothing is done. */
  readonly advice?: string;
}

export function describeAction(action: Action): string {
  switch (action.do) {
    case 'DeleteVolume':
      return `DeleteVolume ${action.volumeId}`;
    case 'DeleteSnapshot':
      return `DeleteSnapshot ${action.snapshotId}`;
    case 'DeleteVolumeGroupSnapshot':
      return `DeleteVolumeGroupSnapshot ${action.groupSnapshotId} with ${action.snapshotIds.join(', ')}`;
    case 'ControllerUnpublishVolume':
      return `ControllerUnpublishVolume ${action.volumeId} from node ${action.nodeId}`;
    case 'delete-object':
      return `delete ${action.object.plural}/${action.object.key}`;
    case 'remove-finalizers':
      return `remove ${action.finalizers.join(', ')} from ${action.object.plural}/${action.object.key}`;
  }
}
