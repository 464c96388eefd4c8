// What the parameters of a StorageClass mean for a volume: those for the driver, and those for the sidecars, which
// never reach it. Pure.

import { KEY_FSTYPE, RESERVED_PARAMETER_PREFIX } from '../../../api/well-known.ts';
import { ClaimProblem } from './claim-problem.ts';
import { SECRET_PARAMETERS } from './secret-references.ts';

export interface ClassParameters {
  driver: Record<string, string>;
  /** '' when neither class nor flag names one. */
  fsType: string;
}

export function classParameters(
  parameters: Readonly<Record<string, string>>,
  defaultFsType: string,
): ClassParameters {
  const driver: Record<string, string> = {};
  const fsTypes: string[] = [];
  for (const [key, value] of Object.entries(parameters)) {
    if (key === KEY_FSTYPE) fsTypes.push(value);
    else if (SECRET_PARAMETERS.has(key)) continue;
    else if (key.startsWith(RESERVED_PARAMETER_PREFIX)) {
      throw new ClaimProblem(
        `the storage class has the parameter ${key}, whose prefix is reserved and which is not known`,
        { slow: true },
      );
    } else {
      // The old spelling of the file system's key reaches the driver, as it always did.
      if (key.toLowerCase() === 'fstype') fsTypes.push(value);
      driver[key] = value;
    }
  }
  if (fsTypes.length > 1) {
    throw new ClaimProblem(
      `the storage class names the file system twice, as fstype and as ${KEY_FSTYPE}; leave one`,
      { slow: true },
    );
  }
  return { driver, fsType: fsTypes[0] || defaultFsType };
}
