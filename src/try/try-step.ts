// One step of `berth try`: what it does to the volume, what it needs of the driver, and which CSI calls it causes.

import type { Abilities } from '../check/driver-under-test.ts';
import type { TryWorld } from './try-world.ts';

export interface TryStep {
  readonly title: string;
  /** Titles of the steps whose results it uses. */
  readonly after: readonly string[];
  /** The calls whose errors explain a failure. */
  readonly calls: readonly string[];
  /** Why the driver cannot do it; the capability by its name in the specification. */
  lacks?(world: TryWorld): string | undefined;
  /** Resolves with what there is to tell; rejects when it failed. */
  run(world: TryWorld): Promise<string | undefined>;
}

/** A step that did not have the expected effect: the message is the report. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure';
}

type ControllerCapability = Abilities['controller'] extends ReadonlySet<infer C> ? C : never;
type NodeCapability = Abilities['node'] extends ReadonlySet<infer C> ? C : never;

export const needsOfController =
  (capability: ControllerCapability) =>
  ({ can }: TryWorld): string | undefined =>
    can.controller.has(capability) ? undefined : `the driver does not have ${capability}`;

export const needsOfNode =
  (capability: NodeCapability) =>
  ({ can }: TryWorld): string | undefined =>
    can.node.has(capability) ? undefined : `the driver's node service does not have ${capability}`;
