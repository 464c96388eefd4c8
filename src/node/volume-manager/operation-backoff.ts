// When an operation that failed may be tried again: half a second, doubling to about two minutes, each operation on
// its own, as the kubelet has it.

import type { Clock, Random } from '../../runtime/ports.ts';
import { type BackoffPolicy, backoffDelayMs } from '../../runtime/time/backoff.ts';

export const OPERATION_BACKOFF: BackoffPolicy = { startMs: 500, maxMs: 122_000 };

interface Failures {
  count: number;
  dueMs: number;
}

export class OperationBackoff {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #random: Pick<Random, 'next'>;
  readonly #byVolume = new Map<string, Map<string, Failures>>();

  constructor(ports: { clock: Pick<Clock, 'monotonicMs'>; random: Pick<Random, 'next'> }) {
    this.#clock = ports.clock;
    this.#random = ports.random;
  }

  /** How long the operation has to wait from now; 0 if it may be tried. */
  waitMs(volumeKey: string, operation: string): number {
    const failures = this.#byVolume.get(volumeKey)?.get(operation);
    return failures ? Math.max(0, failures.dueMs - this.#clock.monotonicMs()) : 0;
  }

  /** Returns how often it has failed in a row, this time included. */
  failed(volumeKey: string, operation: string): number {
    const operations = this.#byVolume.get(volumeKey) ?? new Map<string, Failures>();
    this.#byVolume.set(volumeKey, operations);
    const count = operations.get(operation)?.count ?? 0;
    const delayMs = backoffDelayMs(OPERATION_BACKOFF, count, this.#random);
    operations.set(operation, { count: count + 1, dueMs: this.#clock.monotonicMs() + delayMs });
    return count + 1;
  }

  succeeded(volumeKey: string, operation: string): void {
    const operations = this.#byVolume.get(volumeKey);
    operations?.delete(operation);
    if (operations?.size === 0) this.#byVolume.delete(volumeKey);
  }

  /** What was waited for has changed: everything of this volume may be tried at once. */
  reset(volumeKey: string): void {
    this.#byVolume.delete(volumeKey);
  }

  /** Forgets operations that nobody asks for any more. */
  keepOnly(volumeKey: string, operations: ReadonlySet<string>): void {
    const known = this.#byVolume.get(volumeKey);
    for (const operation of known?.keys() ?? []) if (!operations.has(operation)) known?.delete(operation);
    if (known?.size === 0) this.#byVolume.delete(volumeKey);
  }
}
