// From what a member sees of the others: among whom it divides the keys, and who may still act on some of them. Pure.
//
// Two members may see different things for a while, and divide differently. That is safe: a key is acted on only by a
// member whose own published division gives it the key, and only while no other live member's published record claims it.

import type { MemberRecord } from './member-record.ts';
import { ownerOf } from './rendezvous.ts';

/** Another member, as this one sees it. */
export interface Peer {
  id: string;
  /** Its newest readable record. Undefined: there is a Lease, and it was never readable. */
  record: MemberRecord | undefined;
  /** It may have published something else since, which was not seen. */
  isOutdated: boolean;
  /** When it counts as silent unless its Lease is seen to change, by this process' monotonic clock. */
  overAtMs: number;
  /** A read from the server that began after `overAtMs` showed no change either. A late watch is no proof of death. */
  isDead: boolean;
}

export interface SharesInput {
  id: string;
  hash: number;
  peers: Iterable<Peer>;
  nowMs: number;
  /** It may act: it holds the group's Lease and has listened for long enough. */
  mayAct: boolean;
}

export interface SharesDecision {
  /** To be published. Empty: this member acts on nothing. */
  members: readonly string[];
  /** Live, so what they claim must not be touched. */
  rivals: readonly Peer[];
  /** Why it acts on nothing although it may, for people. */
  waitsFor: string | undefined;
  /** Some are silent and not known to be dead: the server has to be asked. */
  isInDoubt: boolean;
  /** When the next peer counts as silent; Infinity without one. */
  nextChangeMs: number;
}

export function decideShares({ id, hash, peers, nowMs, mayAct }: SharesInput): SharesDecision {
  const rivals: Peer[] = [];
  let nextChangeMs = Number.POSITIVE_INFINITY;
  let waitsFor: string | undefined;
  let isInDoubt = false;
  const members = new Set([id]);
  for (const peer of peers) {
    if (peer.record?.left || peer.isDead) continue;
    rivals.push(peer);
    // It keeps its share until the server was asked: where only the watch is late, nothing changes hands.
    if (nowMs >= peer.overAtMs) isInDoubt = true;
    else nextChangeMs = Math.min(nextChangeMs, peer.overAtMs);
    if (peer.record === undefined) continue;
    if (peer.record.hash < hash) {
      waitsFor = `${peer.id} divides with hash version ${peer.record.hash}, this replica with ${hash}; the lower one works`;
    } else if (peer.record.hash === hash && peer.record.members.length > 0) members.add(peer.id);
  }
  const acts = mayAct && waitsFor === undefined;
  return {
    members: acts ? [...members].sort() : [],
    rivals,
    waitsFor: mayAct ? waitsFor : undefined,
    isInDoubt,
    nextChangeMs,
  };
}

/** Whether the peer may be acting on the key, going by what it published. */
export function claims({ id, record, isOutdated }: Peer, key: string, hash: number): boolean {
  // It is not known what it does: everything may be its.
  if (record === undefined || isOutdated) return true;
  if (record.kept.includes(key)) return true;
  if (record.members.length === 0) return false;
  return record.hash !== hash || ownerOf(key, record.members) === id;
}
