// What a member of a group says in its Lease: one annotation with a checksum. The fields of `spec` are only for people: a
// Lease that was edited by hand, or written by something else, is unreadable and never counts as "has stopped". Pure.

import { hash } from 'node:crypto';
import type { Lease } from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import { heldRecord, releasedRecord } from '../leases/lease-record.ts';

/** On the member's Lease: the group's name. Members find each other by it. */
export const LABEL_SHARDING_GROUP = 'sharding.berth/group';
export const ANN_SHARDING_MEMBER = 'sharding.berth/member';

/** Values of labels have at most 63 characters. */
export function groupLabel(group: string): string {
  return group.length <= 63 ? group : `${group.slice(0, 46)}-${hash('sha256', group).slice(0, 16)}`;
}

export interface MemberRecord {
  /** The name by which keys are hashed, unique among the members. */
  id: string;
  /** The version of the hash function; see rendezvous.ts. */
  hash: number;
  /** Increases with each write: of two records of a member the one with the higher number is the newer. */
  seq: number;
  /** The members among which it divides keys, itself included. Empty: it acts on nothing yet, or no more. */
  members: readonly string[];
  /** Keys that it still works on although they are no longer its own by `members`. */
  kept: readonly string[];
  /** How long the record counts after it was seen to change. */
  durationMs: number;
  /** It has stopped and will not come back. */
  left: boolean;
}

/** What a member may be acting on, by its record. */
export type Claim = Pick<MemberRecord, 'members' | 'kept'>;

export const NO_CLAIM: Claim = { members: [], kept: [] };

export function sameMembers(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}

/** Whether the two differ in nothing but that one is a renewal of the other. */
export function saysTheSame(one: MemberRecord | undefined, other: MemberRecord | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.left === other.left &&
    one.hash === other.hash &&
    sameMembers(one.members, other.members) &&
    sameMembers(one.kept, other.kept)
  );
}

export function memberText(record: MemberRecord): string {
  const { id, hash: version, seq, members, kept, durationMs, left } = record;
  const body = JSON.stringify({ id, hash: version, seq, members, kept, durationMs, left });
  return JSON.stringify({ sum: sumOf(body), body });
}

/** Undefined when it is missing, damaged, or of a format that this release does not know. */
export function memberRecordOf(lease: Lease): MemberRecord | undefined {
  try {
    const { sum, body } = JSON.parse(lease.metadata.annotations?.[ANN_SHARDING_MEMBER] ?? '');
    if (typeof body !== 'string' || sum !== sumOf(body)) return undefined;
    const record = JSON.parse(body);
    return isRecord(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

const sumOf = (body: string): string => hash('sha256', body).slice(0, 16);

function isRecord(given: Partial<MemberRecord> | null): given is MemberRecord {
  const areTexts = (list: unknown): boolean =>
    Array.isArray(list) && list.every((each) => typeof each === 'string');
  return (
    typeof given?.id === 'string' &&
    typeof given.hash === 'number' &&
    typeof given.seq === 'number' &&
    typeof given.durationMs === 'number' &&
    given.durationMs > 0 &&
    typeof given.left === 'boolean' &&
    areTexts(given.members) &&
    areTexts(given.kept)
  );
}

/** The Lease that says it, based on the version last seen. */
export function memberLease(
  known: Lease | undefined,
  given: { namespace: string; name: string; group: string; record: MemberRecord; wallMs: number },
): Draft<Lease> {
  const { namespace, name, group, record, wallMs } = given;
  const { id: identity, durationMs: leaseDurationMs } = record;
  return {
    ...known,
    metadata: {
      ...(known?.metadata ?? { namespace, name }),
      labels: { ...known?.metadata.labels, [LABEL_SHARDING_GROUP]: groupLabel(group) },
      annotations: { ...known?.metadata.annotations, [ANN_SHARDING_MEMBER]: memberText(record) },
    },
    spec: record.left
      ? releasedRecord(known?.spec, wallMs)
      : heldRecord(known?.spec, { identity, leaseDurationMs, wallMs }),
  };
}
