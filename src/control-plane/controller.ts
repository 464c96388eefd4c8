// What every controller of the control plane is: ports in, one `run`.

import type { EventRecorder } from '../runtime/events/create-event-recorder.ts';
import type { Informers } from '../runtime/informer/informer.ts';
import type { Discovery, KubeClient } from '../runtime/kube/kube.ts';
import type { Metrics } from '../runtime/metrics/metrics.ts';
import type { Clock, Log, Random } from '../runtime/ports.ts';

export interface ControllerPorts {
  kube: KubeClient;
  /** Shared by all controllers of a process; the controller asks for what it watches when it is created. */
  informers: Informers;
  recorder: EventRecorder;
  clock: Clock;
  random: Random;
  log: Log;
  metrics?: Metrics;
}

/** For controllers that act on kinds they never heard of. */
export interface DiscoveringPorts extends ControllerPorts {
  discovery: Discovery;
}

export interface Controller {
  readonly name: string;
  /** Works until `signal` aborts, then lets what is under way end. The informers are started by the caller. */
  run(signal: AbortSignal): Promise<void>;
}
