// Leader election: runs some work only while this process holds a Lease, and never while another may hold it.
//
// Guarantees: the work's signal aborts at the latest `renewDeadlineMs` after the last request that renewed the lease
// was sent, by the monotonic clock; others take the lease at the earliest `leaseDurationMs` after that request
// reached the server, by theirs. Wall clocks are not used. The lease is kept while the work shuts down and released when it
// has ended. Assumption: the work ends within the difference of the two once its signal aborts.

import type { KubeClient } from '../kube/kube.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Clock, Log, Random } from '../ports.ts';
import { Bell } from '../time/bell.ts';
import { type Deadline, startDeadline, withDeadline } from '../time/deadline.ts';
import { askTwice } from './ask-twice.ts';
import type { LeaderHealth } from './leader-health.ts';
import { type LeaseAttempt, LeaseClient } from './lease-client.ts';

/** The official sidecars' defaults. */
export const LEASE_DEFAULTS = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 5_000 };

/** Jitter: candidates delay an attempt by up to this many retry periods, as client-go does. */
const JITTER_FACTOR = 1.2;
/** A failed renewal is retried sooner than the next regular one, because of the deadline. */
const RENEW_AGAIN_MS = 1_000;

export interface RunWithLeaseOptions {
  kube: KubeClient;
  clock: Clock;
  random: Random;
  log: Log;
  namespace: string;
  /** See `leaseNameFor`. */
  name: string;
  /** Unique among the candidates. */
  identity: string;
  labels?: Record<string, string>;
  leaseDurationMs?: number;
  renewDeadlineMs?: number;
  retryPeriodMs?: number;
  /** Default true: hand-over then takes milliseconds instead of the lease's duration. */
  releaseOnExit?: boolean;
  /** Candidates share one identity: one that another was faster than tries again after this time. */
  retryConflictMs?: number;
  health?: LeaderHealth;
  metrics?: Metrics;
}

/** The lease could not be renewed in time, or another has it. The work has ended by the time this is thrown. */
export class LeadershipLostError extends Error {
  override readonly name = 'LeadershipLostError';
}

/**
 * Waits for the lease, then runs `lead`, once. Resolves when `lead` has ended, or when `signal` aborted before it
 * began; rejects with what `lead` threw, or with LeadershipLostError: begin again, or exit as the official sidecars do.
 */
export async function runWithLease(
  options: RunWithLeaseOptions,
  lead: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const election = new Election(options);
  const sentAtMs = await election.acquire(signal);
  if (sentAtMs === undefined) return;
  if (signal.aborted) return election.release();
  await election.leadFrom(sentAtMs, lead, signal);
}

class Election {
  readonly #options: RunWithLeaseOptions & typeof LEASE_DEFAULTS;
  readonly #log: Log;
  readonly #lease: LeaseClient;
  readonly #status: { set(value: number): void } | undefined;

  constructor(given: RunWithLeaseOptions) {
    const options = { ...LEASE_DEFAULTS, ...given };
    checkTimes(options);
    this.#options = options;
    this.#log = options.log.with({
      lease: `${options.namespace}/${options.name}`,
      identity: options.identity,
    });
    this.#lease = new LeaseClient(options);
    this.#status = options.metrics
      ?.gauge({
        name: 'leader_election_master_status',
        help: 'Whether this process leads (1) or waits (0), by lease.',
        labelNames: ['name'],
      })
      .labels({ name: options.name });
    this.#status?.set(0);
  }

  /** When the request that took the lease was sent; undefined when aborted first. */
  async acquire(signal: AbortSignal): Promise<number | undefined> {
    const { clock, random, retryPeriodMs, retryConflictMs } = this.#options;
    this.#log.info('Waiting for the lease');
    const watching = new AbortController();
    const bell = new Bell();
    let watched = false;
    let knownHolder = '';
    try {
      while (!signal.aborted) {
        let waitMs = retryPeriodMs * (1 + JITTER_FACTOR * random.next());
        try {
          const attempt = await this.#bounded(signal, (inTime) => this.#lease.acquire(inTime));
          if (attempt.kind === 'held') {
            this.#log.info('Acquired the lease');
            return attempt.sentAtMs;
          }
          if (attempt.holder !== knownHolder) this.#log.info('Another leads', { holder: attempt.holder });
          knownHolder = attempt.holder;
          if (attempt.waitMs > 0) waitMs = Math.min(waitMs, attempt.waitMs + 1);
          else if (retryConflictMs !== undefined) waitMs = retryConflictMs * (1 + random.next());
        } catch (error) {
          if (signal.aborted) return undefined;
          this.#log.error('Cannot read or write the lease, will try again', error, {
            retryInMs: Math.round(waitMs),
          });
        }
        if (!watched) {
          watched = true;
          void this.#watch(bell, watching.signal).then(() => {
            watched = false;
          });
        }
        await bell.wait(clock, waitMs, signal);
      }
      return undefined;
    } finally {
      watching.abort(new Error('no longer waiting for the lease'));
    }
  }

  async leadFrom(
    sentAtMs: number,
    lead: (signal: AbortSignal) => Promise<void>,
    outer: AbortSignal,
  ): Promise<void> {
    const { clock, health, leaseDurationMs } = this.#options;
    const leading = new AbortController();
    const onOuterAbort = () => leading.abort(outer.reason);
    outer.addEventListener('abort', onOuterAbort, { once: true });
    if (outer.aborted) onOuterAbort();
    const renewing = new AbortController();
    let lost: LeadershipLostError | undefined;
    health?.renewed(sentAtMs, leaseDurationMs);
    this.#status?.set(1);
    const renewal = this.#keepRenewing(sentAtMs, renewing.signal).catch((error: unknown) => {
      if (renewing.signal.aborted) return;
      lost =
        error instanceof LeadershipLostError
          ? error
          : new LeadershipLostError('renewal failed', { cause: error });
      this.#log.error('Lost the lease, stopping', lost);
      leading.abort(lost);
    });
    const startedAtMs = clock.monotonicMs();
    try {
      await lead(leading.signal);
    } catch (error) {
      if (!leading.signal.aborted) throw error;
      this.#log.v(4).info('Stopped leading with an error', { err: error });
    } finally {
      outer.removeEventListener('abort', onOuterAbort);
      renewing.abort(new Error('no longer leading'));
      await renewal;
      health?.ended();
      this.#status?.set(0);
      this.#log.info('Stopped leading', { ledForMs: Math.round(clock.monotonicMs() - startedAtMs) });
      if (lost === undefined) await this.release();
    }
    if (lost !== undefined) throw lost;
  }

  /** Returns only by throwing: LeadershipLostError, or the signal's reason. */
  async #keepRenewing(sentAtMs: number, signal: AbortSignal): Promise<never> {
    const { clock, health, leaseDurationMs, retryPeriodMs } = this.#options;
    let deadline = this.#renewDeadline(sentAtMs, signal);
    let pauseMs = retryPeriodMs;
    try {
      for (;;) {
        await clock.sleep(pauseMs, deadline.signal);
        pauseMs = Math.min(RENEW_AGAIN_MS, retryPeriodMs);
        try {
          const attempt = await this.#renew(deadline.signal);
          // An answer that comes after the deadline is no renewal: the work was told to stop.
          deadline.signal.throwIfAborted();
          if (attempt.kind === 'taken') {
            if (attempt.waitMs === 0) continue;
            throw new LeadershipLostError(`the lease is held by ${attempt.holder}`);
          }
          deadline.cancel();
          deadline = this.#renewDeadline(attempt.sentAtMs, signal);
          health?.renewed(attempt.sentAtMs, leaseDurationMs);
          this.#log.v(5).info('Renewed the lease');
          pauseMs = retryPeriodMs;
        } catch (error) {
          if (deadline.signal.aborted || error instanceof LeadershipLostError) throw error;
          this.#log.warn('Could not renew the lease, will try again', { retryInMs: pauseMs, err: error });
        }
      }
    } catch (error) {
      if (deadline.signal.aborted && !signal.aborted) throw deadline.signal.reason;
      throw error;
    } finally {
      deadline.cancel();
    }
  }

  async release(): Promise<void> {
    if (this.#options.releaseOnExit === false) return;
    try {
      await this.#bounded(undefined, (inTime) => this.#lease.release(inTime));
      this.#log.info('Released the lease');
    } catch (error) {
      this.#log.error('Could not release the lease; others take over when it runs out', error);
    }
  }

  #renew(parent: AbortSignal): Promise<LeaseAttempt> {
    const { clock, renewDeadlineMs, retryPeriodMs } = this.#options;
    // Half-way to the deadline.
    const secondAfterMs = (renewDeadlineMs - retryPeriodMs) / 2;
    return askTwice({ clock, secondAfterMs, parent }, (signal) => this.#lease.renew(signal));
  }

  /** A request without an answer must not delay the next one. */
  #bounded<T>(parent: AbortSignal | undefined, request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, retryPeriodMs } = this.#options;
    const reason = () => new Error(`no answer about the lease within ${retryPeriodMs} ms`);
    return withDeadline({ clock, delayMs: retryPeriodMs, reason, ...(parent && { parent }) }, request);
  }

  #renewDeadline(sentAtMs: number, parent: AbortSignal): Deadline {
    const { clock, renewDeadlineMs } = this.#options;
    const reason = () =>
      new LeadershipLostError(`the lease could not be renewed within its deadline of ${renewDeadlineMs} ms`);
    return startDeadline({
      clock,
      delayMs: sentAtMs + renewDeadlineMs - clock.monotonicMs(),
      reason,
      parent,
    });
  }

  /** A failed watch only makes hand-over slower, so it is retried at the polling interval. */
  async #watch(bell: Bell, signal: AbortSignal): Promise<void> {
    try {
      await this.#lease.watch(() => bell.ring(), signal);
    } catch (error) {
      if (!signal.aborted) this.#log.v(4).info('Cannot watch the lease, polling it', { err: error });
    }
  }
}

function checkTimes(options: typeof LEASE_DEFAULTS & { identity: string }): void {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs, identity } = options;
  if (identity === '') throw new Error('leader election: the identity is empty');
  if (!(retryPeriodMs > 0)) throw new Error('leader election: the retry period must be above zero');
  if (!(leaseDurationMs > renewDeadlineMs)) {
    throw new Error(
      `leader election: the lease duration (${leaseDurationMs} ms) must be above the renew deadline (${renewDeadlineMs} ms)`,
    );
  }
  if (!(renewDeadlineMs > retryPeriodMs * JITTER_FACTOR)) {
    throw new Error(
      `leader election: the renew deadline (${renewDeadlineMs} ms) must be above ${JITTER_FACTOR} times the retry period (${retryPeriodMs} ms)`,
    );
  }
}
