// What a simulated cluster needs of a driver and the storage behind it. storage-backend.ts is the ordinary one; a subject puts another
// in its place: a driver as a recording shows it, or one that somebody wrote with the SDK.

import type { CsiTransport } from '../csi/client/transport.ts';
import type { Clock } from '../runtime/ports.ts';
import type { SeededRandom } from '../runtime/random.ts';
import type { Faults } from './faults.ts';
import type { CallFacts, History } from './history.ts';
import type { DriverPlan, RestartAnswer } from './plan.ts';
import type { NodeStorage } from './storage-backend.ts';

export interface DriverBackend {
  readonly plan: DriverPlan;
  isDown: boolean;
  isFull: boolean;
  /** How long a volume stays attached after its detach was acknowledged. */
  lieMs: number;
  /** Nodes that no further volume can be attached to. */
  readonly fullNodes: Set<string>;
  readonly controller: CsiTransport;
  node(name: string): CsiTransport;
  addNode(storage: NodeStorage): void;
  /** Restarts the driver: locks and calls under way are lost, the storage stays. */
  restart(answer: RestartAnswer): void;
  /** What ran on this machine is gone. */
  rebooted(machine: string): void;
  /** Sets how long the next call of this kind for this volume takes. */
  pace(call: CallFacts, ms: number): void;
  /** Whether the call may have taken effect already, or still may: then a final refusal would be a lie. */
  mayBeDone(call: CallFacts): boolean;
  /** What is left at the end; `id` is set where it is a volume or a snapshot, which may have to be kept. */
  remains(): Iterable<{ text: string; id: string }>;
  hasVolume(id: string): boolean;
  /** As NodeGetInfo answers now. */
  nodeIdOf(machine: string): string;
  /** Undefined: the driver sets no limit. */
  readonly maxVolumes: number | undefined;
  /** As NodeGetInfo answers now for a machine in this zone. */
  segmentsIn(zone: string): Readonly<Record<string, string>>;
}

export interface BackendInit {
  readonly plan: DriverPlan;
  readonly clock: Clock;
  readonly random: SeededRandom;
  readonly history: History;
  readonly faults: Faults;
}

/** One driver in place of those that a seed would draw. Classes, nodes, users and faults are the seed's. */
export interface Subject {
  /** `drawn` is the driver that the seed has. */
  plan(drawn: DriverPlan): DriverPlan;
  backend(init: BackendInit): DriverBackend;
}
