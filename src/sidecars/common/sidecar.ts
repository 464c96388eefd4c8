// What a cluster-level sidecar is: a table of flags and a factory that takes its ports. The same description runs as a
// command of its own (run-sidecar.ts), beside others in one process (../all), and under virtual time.

import type { CsiTransport } from '../../csi/client/transport.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { FlagTable } from '../../runtime/flags/flag.ts';
import type { FlagValues } from '../../runtime/flags/parse-flags.ts';
import type { Informers } from '../../runtime/informer/informer.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { Clock, Log, Random } from '../../runtime/ports.ts';
import type { CommonFlagValues } from './common-flags.ts';
import type { Driver } from './identify-driver.ts';

export interface SidecarPorts {
  kube: KubeClient;
  /** Started by the caller once the sidecar is created: ask for what you watch in the factory. */
  informers: Informers;
  /** Calls go to the driver that was identified, and to no other. */
  csi: CsiTransport;
  driver: Driver;
  recorder: EventRecorder;
  clock: Clock;
  random: Random;
  log: Log;
  metrics: Metrics;
}

/** What only a process has. Absent ports of it mean: not in a process of its own (simulation, `berth up`). */
export interface ProcessPorts {
  env: Readonly<Record<string, string | undefined>>;
  /** Unlike any other replica's. */
  identity: string;
  /** Where it may write Leases. */
  namespace: string;
  /** A second client with a pace of its own, for work that must not slow down the rest. */
  kubeWith(limits: { qps?: number; burst?: number }): KubeClient;
}

export interface Sidecar {
  /** Works until `signal` aborts, then lets what is under way end. The informers are started by the caller. */
  run(signal: AbortSignal): Promise<void>;
}

/** The flags that every sidecar's factory sees beside its own. */
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
   * Whether the driver offers what the sidecar is for; every driver unless told. Where all sidecars of a driver run
   * together, those that do not suit it are left out.
   */
  suits?(driver: Driver): boolean;
  /** Replicas that each do their own part need no leader. */
  needsLease?(flags: SidecarFlags<T>): boolean;
  /** Throws a clear error when the driver cannot be served. */
  create(ports: SidecarPorts & ProcessPorts, flags: SidecarFlags<T>): Sidecar;
}

/** Keeps the flags' types for `create`. */
export function defineSidecar<const T extends FlagTable>(kind: SidecarKind<T>): SidecarKind<T> {
  return kind;
}
