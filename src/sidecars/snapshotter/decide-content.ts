// What to do for one content, of a snapshot or of a group snapshot. Pure: the reconciler performs it.

import type { Metadata } from '../../api/object.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { Attempt, ContentHandle } from './attempt.ts';

export type ContentDecision =
  | { do: 'nothing'; why: string }
  /** Call Create…; repeated until the snapshot exists and is ready, and no call is in flight. */
  | { do: 'create' }
  /** Check whether a snapshot that others created is ready. */
  | { do: 'look'; handle: ContentHandle }
  | { do: 'delete'; handle: ContentHandle }
  /** Remove the finalizer; nothing is to be done on the storage. */
  | { do: 'release' };

/** What decides, of either kind of content. */
export interface ContentFacts {
  /** This snapshotter's. */
  driver: DriverName;
  content: {
    metadata: Metadata;
    spec: { driver: string; deletionPolicy: 'Delete' | 'Retain' };
    status?: { readyToUse?: boolean };
  };
  /** The driver of the content's class, if it has one. */
  classDriver: string | undefined;
  /** Undefined where the content names both, or neither. */
  source: { is: 'volumes' } | { is: 'pre-provisioned'; handle: ContentHandle } | undefined;
  /** To a snapshot with a known UID. */
  isBound: boolean;
  /** The snapshot is a member of a group, and is created and deleted with it. */
  isMember: boolean;
  isProtected: boolean;
  /** The snapshot controller allows its deletion. */
  isMarked: boolean;
  attempt: Attempt;
}

const nothing = (why: string): ContentDecision => ({ do: 'nothing', why });

export function decideContent(facts: ContentFacts): ContentDecision {
  const { content, driver, classDriver, source, isMember } = facts;
  if (content.spec.driver !== driver) return nothing(`it is of driver ${content.spec.driver}`);
  if (classDriver !== undefined && classDriver !== driver) {
    return nothing(`its class is of driver ${classDriver}`);
  }
  if (source === undefined) return nothing('its source must be either volumes or a snapshot');
  if (mayGo(facts)) return decideDeletion(facts);
  return source.is === 'volumes' && !isMember ? decideCreation(facts) : decideLook(facts);
}

/**
 * A content is deleted with its snapshot, or alone where none was bound to it. While a Create… may be in flight it stays:
 * the call is repeated until its outcome is known. Without the handle the snapshot could not be deleted; with it, a call
 * that is late would create the snapshot again after its deletion.
 */
export function mayGo(facts: ContentFacts): boolean {
  const { source, isBound, attempt } = facts;
  if (facts.content.metadata.deletionTimestamp === undefined) return false;
  if (source?.is === 'pre-provisioned' && !isBound) return true;
  return isToGo(facts) && (attempt.is === 'recorded' ? attempt.isTidy : attempt.is === 'none');
}

/** Its deletion is requested and allowed. */
export function isToGo({ content, isMarked }: ContentFacts): boolean {
  return content.metadata.deletionTimestamp !== undefined && isMarked;
}

function decideDeletion({ content, source, isProtected, isMember, attempt }: ContentFacts): ContentDecision {
  const recorded = attempt.is === 'recorded' ? attempt.handle : undefined;
  const handle = recorded ?? (source?.is === 'pre-provisioned' ? source.handle : undefined);
  // Without finalizer and handle the snapshot was deleted already; other finalizers keep the object.
  const isThere = isProtected || recorded !== undefined;
  if (content.spec.deletionPolicy === 'Delete' && handle && isThere && !isMember)
    return { do: 'delete', handle };
  return isProtected ? { do: 'release' } : nothing('its finalizer is removed');
}

function decideCreation({ content, isBound, isMarked, isProtected, attempt }: ContentFacts): ContentDecision {
  if (content.status?.readyToUse === true && attempt.is === 'recorded') {
    // A record that is left is of a call whose end nobody knows: late, it would create the snapshot again after its deletion.
    return attempt.isTidy ? nothing('it is ready') : { do: 'create' };
  }
  if (!isBound) return nothing('it is not bound to a snapshot');
  if (content.metadata.deletionTimestamp !== undefined && !isProtected) {
    return nothing('it is being deleted, and no finalizer would keep it until the snapshot is deleted');
  }
  if (isMarked && content.spec.deletionPolicy === 'Delete' && attempt.is === 'none') {
    return nothing('it is about to be deleted, and the driver was not called yet');
  }
  return { do: 'create' };
}

function decideLook({ content, source, attempt }: ContentFacts): ContentDecision {
  if (content.status?.readyToUse === true) return nothing('it is ready');
  const recorded = attempt.is === 'recorded' ? attempt.handle : undefined;
  const handle = recorded ?? (source?.is === 'pre-provisioned' ? source.handle : undefined);
  return handle ? { do: 'look', handle } : nothing('its group snapshot has not set its handle yet');
}
