// The public API of the runtime (`berth/runtime`): what a custom controller needs. Inside the project files are imported
// directly, so that a process loads only what it uses.

export {
  createEventRecorder,
  type EventRecorder,
  type EventRecorderOptions,
} from './events/create-event-recorder.ts';
export type { EventSubject, EventType } from './events/event-record.ts';
export { createInformers } from './informer/create-informers.ts';
export type { Informer, InformerHandler, InformerOptions, Informers } from './informer/informer.ts';
export {
  createHttpKubeClient,
  type HttpKubeClient,
  type HttpKubeClientOptions,
} from './kube/http-kube-client.ts';
export type * from './kube/kube.ts';
export { type KubeConfig, KubeConfigError } from './kube/kube-config.ts';
export * from './kube/kube-error.ts';
export { type LoadKubeConfigOptions, loadKubeConfig } from './kube/load-kube-config.ts';
export { createLeaderHealth, type LeaderHealth } from './leases/leader-health.ts';
export { leaseNameFor } from './leases/lease-record.ts';
export {
  LEASE_DEFAULTS,
  LeadershipLostError,
  type RunWithLeaseOptions,
  runWithLease,
} from './leases/run-with-lease.ts';
export { createLog, type LogLine, type LogOptions, type MemoryLog, memoryLog, silentLog } from './log/log.ts';
export { isSecretValue, secretValue } from './log/secret-value.ts';
export { createMetrics, type MetricInit, type Metrics } from './metrics/metrics.ts';
export type * from './ports.ts';
export { createDebugProfiles, type DebugProfiles } from './process/debug-profiles.ts';
export {
  type HealthCheck,
  type HttpEndpoint,
  type HttpEndpointOptions,
  serveHttpEndpoint,
} from './process/http-endpoint.ts';
export { createLoop, DEFAULT_BACKOFF, type LoopOptions } from './queue/create-loop.ts';
export {
  done,
  type Failure,
  failed,
  type Loop,
  type Outcome,
  type Reconcile,
  type Run,
  requeueAfter,
} from './queue/loop.ts';
export type { Retries } from './queue/retries.ts';
export { realRandom, type SeededRandom, seededRandom } from './random.ts';
export { type BackoffPolicy, backoffDelayMs } from './time/backoff.ts';
export { realClock } from './time/clock.ts';
export { type Deadline, type DeadlineInit, startDeadline, withDeadline } from './time/deadline.ts';
export {
  VirtualClock,
  VirtualDeadlockError,
  VirtualLivelockError,
  VirtualTimeLimitError,
} from './time/virtual-clock.ts';
