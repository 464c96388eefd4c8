// The interface of every controller: it is given its ports and has one method, `run`.

import type { EventRecorder } from '../runtime/events/create-event-recorder.ts';
import type { Informers } from '../runtime/informer/informer.ts';
import type { Discovery, KubeClient } from '../runtime/kube/kube.ts';
import type { Metrics } from '../runtime/metrics/metrics.ts';
import type { Clock, Log, Random } from '../runtime/ports.ts';
import type { Shares } from '../runtime/sharding/shares.ts';

/** The feature gates of kube-controller-manager and kube-scheduler that Berth has. */
export interface ControlPlaneGates {
  readonly StorageCapacityScoring?: boolean;
  readonly PersistentVolumeClaimUnusedSinceTime?: boolean;
}

export interface ControllerPorts {
  kube: KubeClient;
  /** Shared by all controllers of a process; a controller asks for the informers it needs when it is created. */
  informers: Informers;
  recorder: EventRecorder;
  clock: Clock;
  random: Random;
  log: Log;
  metrics?: Metrics;
  /** With sharding, where a controller knows it: what is this replica's. */
  shares?: Shares | undefined;
  /** Off unless given. */
  gates?: ControlPlaneGates;
}

/** For controllers that act on kinds which are known only at run time. */
export interface DiscoveringPorts extends ControllerPorts {
  discovery: Discovery;
}

export interface Controller {
  readonly name: string;
  /** Runs until `signal` aborts, then finishes what is in flight. The caller starts the informers. */
  run(signal: AbortSignal): Promise<void>;
}
