// The ports through which every component reaches the outside: time, randomness, logs. Their real implementations
// are beside this file; the simulation has virtual ones. Kubernetes is in kube.ts, CSI in src/csi/client/transport.ts,
// mounts in mount/mounter.ts.

import type { Clock as WireClock } from '../wire/clock.ts';

export type { Timer } from '../wire/clock.ts';

/** Time. `Date.now`, `setTimeout` and friends are banned outside src/runtime. */
export interface Clock extends WireClock {
  /** Resolves after `delayMs`; rejects with the signal's reason as soon as the signal aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** Randomness. A seeded implementation makes a run repeatable. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer in [0, bound). */
  int(bound: number): number;
  /** A version 4 UUID. */
  uuid(): string;
  /** Lower-case alphanumeric suffix, without vowels, as Kubernetes uses in generated names. */
  suffix(length: number): string;
}

/** A secret value: prints as `[redacted]` however it is turned into text; `reveal` is the only way to its content. */
export interface SecretValue<T> {
  reveal(): T;
}

export type LogFields = Record<string, unknown>;

/** Structured log. Verbosity follows klog: `log.v(4).info(…)` is emitted with `-v=4` and up. */
export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** `error` may be anything that was thrown. */
  error(message: string, error: unknown, fields?: LogFields): void;
  v(level: number): { readonly enabled: boolean; info(message: string, fields?: LogFields): void };
  /** A log that adds these fields to each line. */
  with(fields: LogFields): Log;
}
