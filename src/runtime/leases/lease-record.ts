// The content of a Lease, as client-go writes it, and when it may be acquired. Pure.

import type { Lease } from '../../api/kinds.ts';

export type LeaseSpec = NonNullable<Lease['spec']>;

/** Kubernetes' MicroTime: RFC 3339 with exactly six digits of fraction. */
export function microTime(wallMs: number): string {
  const micros = Math.floor((wallMs * 1000) % 1000)
    .toString()
    .padStart(3, '0');
  return new Date(wallMs).toISOString().replace('Z', `${micros}Z`);
}

/** Names and identities as the official sidecars make them: characters other than letters, digits and `-` become `-`. */
export function leaseNameFor(name: string): string {
  const sanitized = name.replaceAll(/[^a-zA-Z0-9-]/g, '-');
  return sanitized.endsWith('-') ? `${sanitized}X` : sanitized;
}

/** A Lease and when this process saw it change, by its own monotonic clock: wall clocks differ and jump. */
export interface Observation {
  lease: Lease;
  seenAtMs: number;
}

/** Any new version counts as a renewal, also one that was rewritten with the same times. */
export function observe(previous: Observation | undefined, lease: Lease, nowMs: number): Observation {
  const same =
    previous?.lease.metadata.uid === lease.metadata.uid &&
    previous.lease.metadata.resourceVersion === lease.metadata.resourceVersion;
  return { lease, seenAtMs: same ? previous.seenAtMs : nowMs };
}

export function holderOf(lease: Lease): string {
  return lease.spec?.holderIdentity ?? '';
}

/** How long until `identity` may take the lease; 0: now. */
export function waitToTakeMs(observation: Observation, identity: string, nowMs: number): number {
  const holder = holderOf(observation.lease);
  if (holder === '' || holder === identity) return 0;
  const durationMs = (observation.lease.spec?.leaseDurationSeconds ?? 0) * 1000;
  return Math.max(0, observation.seenAtMs + durationMs - nowMs);
}

export interface RecordInit {
  identity: string;
  leaseDurationMs: number;
  wallMs: number;
}

/** The record of a new or renewing holder. */
export function heldRecord(previous: LeaseSpec | undefined, init: RecordInit): LeaseSpec {
  const now = microTime(init.wallMs);
  const mine = previous?.holderIdentity === init.identity;
  const transitions = previous?.leaseTransitions ?? 0;
  return {
    ...previous,
    holderIdentity: init.identity,
    // Rounded up: others may wait longer than we assume, never shorter.
    leaseDurationSeconds: Math.ceil(init.leaseDurationMs / 1000),
    acquireTime: (mine ? previous?.acquireTime : undefined) ?? now,
    renewTime: now,
    leaseTransitions: previous === undefined || mine ? transitions : transitions + 1,
  };
}

/** A released lease: the next candidate need not wait. */
export function releasedRecord(previous: LeaseSpec | undefined, wallMs: number): LeaseSpec {
  const now = microTime(wallMs);
  return {
    ...previous,
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: now,
    renewTime: now,
    leaseTransitions: previous?.leaseTransitions ?? 0,
  };
}
