// A check: one sentence that a driver holds to or not, what the driver must be able to do for it to apply, and the calls
// that find out. And the runner: one check at a time, each cleaned up after.

import { CsiError } from '../csi/csi-error.ts';
import type { ControllerCapability, NodeCapability } from '../csi/messages/capabilities.ts';
import { CheckFailure, type DriverUnderTest } from './driver-under-test.ts';

export interface Check {
  readonly group: string;
  /** What holds, in the present tense. */
  readonly title: string;
  readonly needs?: readonly ControllerCapability[];
  readonly needsOfNode?: readonly NodeCapability[];
  /** Mounts for real. */
  readonly mounts?: boolean;
  /** Another reason for which it does not apply. */
  notFor?(driver: DriverUnderTest): string | undefined;
  run(driver: DriverUnderTest): Promise<void>;
}

export type Verdict =
  | { state: 'passed'; ms: number; left: readonly string[] }
  | { state: 'failed'; ms: number; why: string; left: readonly string[] }
  | { state: 'skipped'; why: string };

/** Why the check does not apply; undefined when it does. */
export function missing(check: Check, driver: DriverUnderTest, mayMount: boolean): string | undefined {
  const { can } = driver;
  const lacks = [
    ...(check.needs ?? []).filter((need) => !can.controller.has(need)),
    ...(check.needsOfNode ?? []).filter((need) => !can.node.has(need)).map((need) => `${need} of the node`),
  ];
  if (lacks.length > 0) return `the driver does not have ${lacks.join(', ')}`;
  if (check.mounts && !mayMount) return 'mounts need --mount-dir';
  return check.notFor?.(driver);
}

export async function runCheck(check: Check, driver: DriverUnderTest): Promise<Verdict> {
  const startMs = driver.clock.monotonicMs();
  const took = (): number => driver.clock.monotonicMs() - startMs;
  try {
    await check.run(driver);
    return { state: 'passed', ms: took(), left: await driver.cleanUp() };
  } catch (error) {
    const left = await driver.cleanUp();
    if (error instanceof CheckFailure) return { state: 'failed', ms: took(), why: error.message, left };
    if (error instanceof CsiError) {
      return {
        state: 'failed',
        ms: took(),
        why: `${error.method} failed: ${error.code}: ${error.description}`,
        left,
      };
    }
    throw error;
  }
}
