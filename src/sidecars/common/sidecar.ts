// The description of a cluster-level sidecar: a table of flags and a factory that takes its ports. The same description
// runs as a command of its own (run-sidecar.ts), with others in one process (../all), and under virtual time.

import type { CsiStreamTransport, CsiTransport } from '../../csi/client/transport.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { FlagTable } from '../../runtime/flags/flag.ts';
import type { FlagValues } from '../../runtime/flags/parse-flags.ts';
import type { Informers } from '../../runtime/informer/informer.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { Clock, Log, Random } from '../../runtime/ports.ts';
import type { Shares } from '../../runtime/sharding/shares.ts';
import type { CommonFlagValues } from './common-flags.ts';
import type { Driver } from './identify-driver.ts';

export interface SidecarPorts {
  kube: KubeClient;
  /** Started by the caller once the sidecar is created: a factory asks for its informers before that. */
  informers: Informers;
  /** Calls go to the driver that was identified, and to no other. */
  csi: CsiTransport;
  driver: Driver;
  recorder: EventRecorder;
  clock: Clock;
  random: Random;
  log: Log;
  metrics: Metrics;
  /** With sharding: what is this replica's. Without it everything is. */
  shares?: Shares | undefined;
}

/** Ports that only a process has. They are absent without a process of its own (simulation, `berth up`). */
export interface ProcessPorts {
  env: Readonly<Record<string, string | undefined>>;
  /** Unique among the replicas. */
  identity: string;
  /** The namespace of its Leases. */
  namespace: string;
  /** A second client with its own rate limit, for work that must not slow down the rest. */
  kubeWith(limits: { qps?: number; burst?: number }): KubeClient;
  /** The same calls, and those that are answered by a stream. */
  csi: CsiStreamTransport;
}

export interface Sidecar {
  /** Runs until `signal` aborts, then finishes what is in flight. The caller starts the informers. */
  run(signal: AbortSignal): Promise<void>;
}

/** The flags that every sidecar's factory gets beside its own. */
export type SidecarFlags<T extends FlagTable> = FlagValues<T> & CommonFlagValues;

export interface SidecarKind<T extends FlagTable = FlagTable> {
  /** `attacher`: the command, and the prefix of its flags where several share a command line. */
  readonly name: string;
  /** Its own flags, without the common ones. */
  readonly flags: T;
  leaseName(driver: DriverName): string;
  /** The `source.component` of its Events. */
  eventSource(driver: DriverName, identity: string): string;
  /**
   * Whether the driver has the capabilities that the sidecar needs; every driver by default. Where all sidecars of a
   * driver run together, those that do not suit it are left out.
   */
  suits?(driver: Driver): boolean;
  /** It answers callers: every replica does, whoever leads. */
  readonly servesInEveryReplica?: true;
  /** Per-node replicas each work on their own part and need no leader. */
  needsLease?(flags: SidecarFlags<T>): boolean;
  /** It divides its objects among replicas. Others run as a whole, in one replica, where a process has sharding. */
  readonly shards?: true;
  /** Throws when the sidecar cannot work with the driver. */
  create(ports: SidecarPorts & ProcessPorts, flags: SidecarFlags<T>): Sidecar;
}

/** Throws when the environment variable that the flag needs is not set. */
export function requiredVariable(env: ProcessPorts['env'], name: string, flag: string): string {
  const value = env[name];
  if (!value) throw new Error(`${flag} needs the environment variable ${name}`);
  return value;
}

/** Keeps the flags' types for `create`. */
export function defineSidecar<const T extends FlagTable>(kind: SidecarKind<T>): SidecarKind<T> {
  return kind;
}
