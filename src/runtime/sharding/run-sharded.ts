// Several replicas at once, each on its share. The group holds the single Lease of leader election together, under one name
// that all replicas share: beside an official sidecar, or a replica without sharding, either the group works or the other.
// Each replica renews it, so that none has to take over from another. The last replica that leaves releases it.

import { leases } from '../../api/kinds.ts';
import { createInformers } from '../informer/create-informers.ts';
import { ifThere } from '../kube/if-there.ts';
import type { KubeClient } from '../kube/kube.ts';
import { isConflict } from '../kube/kube-error.ts';
import { holderOf, releasedRecord } from '../leases/lease-record.ts';
import { type RunWithLeaseOptions, runWithLease } from '../leases/run-with-lease.ts';
import type { Clock } from '../ports.ts';
import { childSignal } from '../time/child-signal.ts';
import { withDeadline } from '../time/deadline.ts';
import { onAbort } from '../time/on-abort.ts';
import { untilAborted } from '../time/until-aborted.ts';
import { confirmGroupLease, GROUP_IDENTITY } from './group-lease.ts';
import { groupLabel, LABEL_SHARDING_GROUP } from './member-record.ts';
import { DEFAULT_MEMBER_DURATION_MS, memberTimes } from './member-times.ts';
import { Membership, type MembershipOptions } from './membership.ts';

/** Replicas that start together write the single Lease at the same time. */
const RETRY_CONFLICT_MS = 50;

export interface RunShardedOptions extends RunWithLeaseOptions {
  /** A client of its own for the Leases: renewals must not queue behind the work. */
  kube: KubeClient;
  memberDurationMs?: number;
  /** Tests: another version of the hash function, wrong times, a wrong function. */
  member?: Partial<Pick<MembershipOptions, 'hash' | 'times' | 'ownerOf'>>;
}

/**
 * Waits until the group may work, then runs `work`, which calls `membership.start` when it is ready to get a share. When
 * this replica's Lease is lost, `work` is ended and begun again. Resolves when `signal` aborted and `work` has ended.
 */
export async function runSharded(
  options: RunShardedOptions,
  work: (membership: Membership, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { kube, clock, log, namespace, name: group, identity: id, memberDurationMs } = options;
  const times = memberTimes(memberDurationMs ?? DEFAULT_MEMBER_DURATION_MS);
  const informers = createInformers(options);
  const members = informers.of(leases, {
    namespace,
    labelSelector: `${LABEL_SHARDING_GROUP}=${groupLabel(group)}`,
  });
  const membership = new Membership({
    kube,
    clock,
    log,
    namespace,
    group,
    id,
    times,
    leases: members,
    ...options.member,
  });
  const renewing = new AbortController();
  const working = childSignal(signal);
  const failed = new AbortController();
  informers.start(renewing.signal);
  const renewal = membership.run(renewing.signal).catch((error: unknown) => {
    failed.abort(error);
    working.abort(error);
  });
  try {
    // First: a replica that may not write its own Lease must not keep the single one from others.
    await untilAborted(membership.announced, working.signal).catch(() => {});
    await runWithLease(
      { ...options, identity: GROUP_IDENTITY, releaseOnExit: false, retryConflictMs: RETRY_CONFLICT_MS },
      (leading) => workInTurns(membership, options, work, leading),
      working.signal,
    );
    failed.signal.throwIfAborted();
  } finally {
    working.detach();
    renewing.abort(new Error('the replica stops'));
    await renewal;
    await goodbye(membership, options);
  }
}

async function workInTurns(
  membership: Membership,
  options: RunShardedOptions,
  work: (membership: Membership, signal: AbortSignal) => Promise<void>,
  leading: AbortSignal,
): Promise<void> {
  while (!leading.aborted) {
    const { lost, announced } = membership;
    const turn = childSignal(leading);
    const stopListening = onAbort(lost, () => turn.abort(lost.reason));
    if (lost.aborted) turn.abort(lost.reason);
    try {
      await untilAborted(announced, turn.signal);
      await confirmGroupLease(options, turn.signal);
      await work(membership, turn.signal);
    } catch (error) {
      if (!lost.aborted && !leading.aborted) throw error;
    } finally {
      stopListening();
      turn.detach();
    }
    if (!leading.aborted && !lost.aborted) return;
    if (lost.aborted) membership.rejoin();
  }
}

/** Nothing is under way. Others take over at once, and the single Lease is released by the last one. */
async function goodbye(membership: Membership, options: RunShardedOptions): Promise<void> {
  const { clock, log, retryPeriodMs = 5_000 } = options;
  const reason = () => new Error(`no answer about the Leases within ${retryPeriodMs} ms`);
  try {
    await withDeadline({ clock, delayMs: retryPeriodMs, reason }, async (inTime) => {
      await membership.leave(inTime);
      if (options.releaseOnExit !== false) await releaseIfLast(membership, options, inTime);
    });
  } catch (error) {
    log.error(
      'Could not leave the group; the others take over when the Lease of this replica is over',
      error,
    );
  }
}

/**
 * A replica that joins or rejoins writes its own Lease, and then the single one before it acts. So either it is seen here, or
 * its write of the single Lease comes after the read below: the release conflicts with that, or is overwritten by it, or the
 * replica finds that another has the single Lease.
 */
async function releaseIfLast(
  membership: Membership,
  { kube, clock, log, namespace, name }: RunShardedOptions & { clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const lease = await ifThere(kube.get(leases, { namespace, name }, { signal }));
  await membership.read(signal);
  if (membership.others.length > 0) return;
  await membership.remove(signal);
  if (lease === undefined || holderOf(lease) !== GROUP_IDENTITY) return;
  try {
    await kube.update(leases, { ...lease, spec: releasedRecord(lease.spec, clock.now()) }, { signal });
    log.info('The last replica of the group released the Lease', { lease: `${namespace}/${name}` });
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
}
