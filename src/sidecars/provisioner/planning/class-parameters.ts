// The parameters of a StorageClass: those for the driver, and those for the sidecars, which are not passed to it. Pure.

import { KEY_FSTYPE, RESERVED_PARAMETER_PREFIX } from '../../../api/well-known.ts';
import { permanentProblem } from './claim-problem.ts';
import { SECRET_PARAMETERS } from './secret-references.ts';

/** `driver`: the parameters for the driver. `fsType`: '' when neither class nor flag names one. */
export function classParameters(
  parameters: Readonly<Record<string, string>>,
  defaultFsType: string,
): { driver: Record<string, string>; fsType: string } {
  const driver: Record<string, string> = {};
  const fsTypes: string[] = [];
  for (const [key, value] of Object.entries(parameters)) {
    if (key === KEY_FSTYPE) fsTypes.push(value);
    else if (SECRET_PARAMETERS.has(key)) continue;
    else if (key.startsWith(RESERVED_PARAMETER_PREFIX)) {
      throw permanentProblem(
        `the storage class has the parameter ${key}, which has a reserved prefix and is unknown`,
      );
    } else {
      // The old key of the filesystem type is passed to the driver, as it always was.
      if (key.toLowerCase() === 'fstype') fsTypes.push(value);
      driver[key] = value;
    }
  }
  if (fsTypes.length > 1) {
    throw permanentProblem(
      `the storage class gives the filesystem type twice, as fstype and as ${KEY_FSTYPE}; remove one`,
    );
  }
  return { driver, fsType: fsTypes[0] || defaultFsType };
}
