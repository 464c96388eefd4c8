// One Lease on the API server, and what this process last saw of it. Every write carries the resourceVersion it was based
// on, so of two concurrent writers one gets a conflict.

import { type Lease, leases } from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import type { KubeClient } from '../kube/kube.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../kube/kube-error.ts';
import type { Clock, Log } from '../ports.ts';
import {
  heldRecord,
  holderOf,
  type LeaseSpec,
  type Observation,
  observe,
  releasedRecord,
  waitToTakeMs,
} from './lease-record.ts';

export interface LeaseOptions {
  kube: KubeClient;
  clock: Clock;
  log: Log;
  namespace: string;
  name: string;
  identity: string;
  labels?: Record<string, string>;
  leaseDurationMs: number;
}

/** `held`: ours, by a request sent at `sentAtMs`. `taken`: another's for at least `waitMs` more. */
export type LeaseAttempt =
  | { kind: 'held'; sentAtMs: number }
  | { kind: 'taken'; holder: string; waitMs: number };

export class LeaseClient {
  readonly #options: LeaseOptions;
  #observation: Observation | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  get resourceVersion(): string | undefined {
    return this.#observation?.lease.metadata.resourceVersion;
  }

  /** Acquires the lease if it is free or expired. Throws a KubeError when the server cannot be asked. */
  async acquire(signal: AbortSignal): Promise<LeaseAttempt> {
    const { kube, clock, namespace, name, identity } = this.#options;
    try {
      this.#see(await kube.get(leases, { namespace, name }, { signal }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return this.#writeOrYield(undefined, signal);
    }
    const observation = this.#observation as Observation;
    const waitMs = waitToTakeMs(observation, identity, clock.monotonicMs());
    if (waitMs > 0) return { kind: 'taken', holder: holderOf(observation.lease), waitMs };
    return this.#writeOrYield(observation.lease, signal);
  }

  /** Renews our lease based on the version last seen; on a conflict, reads it first. */
  async renew(signal: AbortSignal): Promise<LeaseAttempt> {
    const { identity } = this.#options;
    const known = this.#observation?.lease;
    if (known !== undefined && holderOf(known) === identity) {
      try {
        return await this.#write(known, signal);
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
    }
    return this.acquire(signal);
  }

  /** Releases the lease, if it is ours. */
  async release(signal: AbortSignal): Promise<void> {
    const { kube, clock, namespace, name, identity } = this.#options;
    let lease = this.#observation?.lease;
    while (lease !== undefined && holderOf(lease) === identity) {
      const spec = releasedRecord(lease.spec, clock.now());
      try {
        this.#see(await kube.update(leases, { ...lease, spec }, { signal }));
        return;
      } catch (error) {
        if (isNotFound(error)) return;
        if (!isConflict(error)) throw error;
        lease = await kube.get(leases, { namespace, name }, { signal });
      }
    }
  }

  /** Watches the lease and calls `released` each time its holder releases it. Ends with the watch. */
  async watch(released: () => void, signal: AbortSignal): Promise<void> {
    const { kube, namespace, name } = this.#options;
    const { resourceVersion } = this;
    const events = kube.watch(leases, {
      namespace,
      fieldSelector: `metadata.name=${name}`,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      signal,
    });
    for await (const event of events) {
      if (event.type === 'BOOKMARK' || event.object.metadata.name !== name) continue;
      if (event.type !== 'DELETED') this.#see(event.object);
      if (event.type === 'DELETED' || holderOf(event.object) === '') released();
    }
  }

  #see(lease: Lease): void {
    this.#observation = observe(this.#observation, lease, this.#options.clock.monotonicMs());
  }

  /** A conflict is no error: another process has the lease now. */
  async #writeOrYield(previous: Lease | undefined, signal: AbortSignal): Promise<LeaseAttempt> {
    try {
      return await this.#write(previous, signal);
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error)) throw error;
      return { kind: 'taken', holder: 'another candidate', waitMs: 0 };
    }
  }

  async #write(previous: Lease | undefined, signal: AbortSignal): Promise<LeaseAttempt> {
    const { kube, clock, namespace, name, identity, labels, leaseDurationMs } = this.#options;
    const spec: LeaseSpec = heldRecord(previous?.spec, { identity, leaseDurationMs, wallMs: clock.now() });
    const sentAtMs = clock.monotonicMs();
    if (previous === undefined) {
      const draft: Draft<Lease> = { metadata: { namespace, name, ...(labels && { labels }) }, spec };
      this.#see(await kube.create(leases, draft, { signal }));
    } else {
      const metadata = {
        ...previous.metadata,
        ...(labels && { labels: { ...previous.metadata.labels, ...labels } }),
      };
      this.#see(await kube.update(leases, { ...previous, metadata, spec }, { signal }));
    }
    return { kind: 'held', sentAtMs };
  }
}
