// Runs checks one after the other. Before the first that needs a volume, one is created with the given options: if the driver
// refuses, that is one failure with the flag to give, and the checks that need a volume are skipped.

import { CsiError } from '../csi/csi-error.ts';
import type { GrpcCode } from '../wire/grpc/grpc-code.ts';
import { type Check, missing, runCheck, specificationOf } from './check.ts';
import { CheckFailure, callWords, type DriverUnderTest } from './driver-under-test.ts';
import type { Report, Verdict } from './report/reporter.ts';

const FIRST_VOLUME: Check = {
  group: 'CreateVolume',
  title: 'creates a volume with the given parameters, size and capability',
  section: 'createvolume',
  needs: ['CREATE_DELETE_VOLUME'],
  async run(driver) {
    await driver.createVolume();
  },
};

/** The flag that most likely helps. */
const FLAGS: Partial<Record<GrpcCode, string>> = {
  INVALID_ARGUMENT:
    'give the parameters of your StorageClass with --parameters or --parameters-file, and a capability that the driver has ' +
    'with --access-mode, --block or --fstype',
  UNAUTHENTICATED: 'give secrets with --secrets',
  PERMISSION_DENIED: 'give secrets with --secrets',
  OUT_OF_RANGE: 'give a size that the driver supports with --size',
  RESOURCE_EXHAUSTED: 'give a size for which there is room with --size',
};

export const nameOf = ({ group, title }: Check): string => `${group}: ${title}`;

export async function runChecks(
  checks: readonly Check[],
  driver: DriverUnderTest,
  { report, mayMount, signal }: { report: Report; mayMount: boolean; signal: AbortSignal },
): Promise<void> {
  const add = (check: Check, verdict: Verdict): void =>
    report.add({ group: check.group, title: check.title, specification: specificationOf(check) }, verdict);
  let hasVolume: boolean | undefined;
  for (const check of checks) {
    signal.throwIfAborted();
    const why = missing(check, driver, mayMount);
    if (why !== undefined) {
      add(check, { state: 'skipped', why });
      continue;
    }
    if (check.needs?.includes('CREATE_DELETE_VOLUME')) {
      if (hasVolume === undefined) {
        const first = await firstVolume(driver);
        hasVolume = first === undefined;
        if (first !== undefined) add(FIRST_VOLUME, first);
      }
      if (!hasVolume) {
        add(check, { state: 'skipped', why: 'no volume can be created, see above' });
        continue;
      }
    }
    add(check, await runCheck(check, driver));
  }
}

/** The failure; undefined when a volume can be created. */
async function firstVolume(driver: DriverUnderTest): Promise<Verdict | undefined> {
  const startMs = driver.clock.monotonicMs();
  try {
    await FIRST_VOLUME.run(driver);
    await driver.cleanUp();
    return undefined;
  } catch (error) {
    const ms = driver.clock.monotonicMs() - startMs;
    return { state: 'failed', ms, why: whyNoVolume(error), left: await driver.cleanUp() };
  }
}

function whyNoVolume(error: unknown): string {
  if (error instanceof CheckFailure) return error.message;
  if (!(error instanceof CsiError)) throw error;
  const flag = FLAGS[error.code];
  return `${callWords(error)}${flag === undefined ? '' : `; ${flag}`}`;
}
