// A check: the rule it verifies, where the specification has it, the capabilities that it needs of the driver, and the calls
// that verify it. The runner runs one check at a time and cleans up after each.

import { CsiError } from '../csi/csi-error.ts';
import type {
  ControllerCapability,
  GroupControllerCapability,
  NodeCapability,
  PluginService,
} from '../csi/messages/capabilities.ts';
import { CheckFailure, callWords, type DriverUnderTest } from './driver-under-test.ts';
import type { Verdict } from './report/reporter.ts';

export interface Check {
  readonly group: string;
  /** The rule, in the present tense. */
  readonly title: string;
  /** The anchor of the section of the specification that has the rule. */
  readonly section: string;
  readonly needs?: readonly ControllerCapability[];
  readonly needsOfNode?: readonly NodeCapability[];
  readonly needsOfGroup?: readonly GroupControllerCapability[];
  readonly needsServices?: readonly PluginService[];
  /** Makes real mounts. */
  readonly mounts?: boolean;
  /** Another reason why it does not apply. */
  notFor?(driver: DriverUnderTest): string | undefined;
  run(driver: DriverUnderTest): Promise<void>;
}

const SPECIFICATION = 'https://github.com/container-storage-interface/spec/blob/v1.12.0/spec.md';

export const specificationOf = ({ section }: Check): string => `${SPECIFICATION}#${section}`;

/** Why the check does not apply; undefined when it does. */
export function missing(check: Check, driver: DriverUnderTest, mayMount: boolean): string | undefined {
  const { can } = driver;
  const lacks = [
    ...(check.needs ?? []).filter((need) => !can.controller.has(need)),
    ...(check.needsOfNode ?? []).filter((need) => !can.node.has(need)).map((need) => `${need} of the node`),
    ...(check.needsOfGroup ?? []).filter((need) => !can.group.has(need)),
    ...(check.needsServices ?? []).filter((need) => !can.plugin.services.has(need)),
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
    if (error instanceof CsiError) return { state: 'failed', ms: took(), why: callWords(error), left };
    throw error;
  }
}
