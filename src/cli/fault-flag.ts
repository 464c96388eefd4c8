// The flag `--fault`, which sets faults from the start.

import type { ActiveFaults } from '../faults/active-faults.ts';
import { FaultError } from '../faults/parse-fault.ts';
import { flagOf } from '../runtime/flags/flag.ts';
import { UsageError } from './command.ts';

export const faultFlag = (help: string) =>
  flagOf<readonly string[]>(
    {
      type: 'fault',
      parse: (text, previous = []) => [...previous, text],
      format: (value) => value.join(', '),
    },
    { help, default: [] },
  );

export function addFaults(faults: ActiveFaults, texts: readonly string[]): void {
  try {
    for (const text of texts) faults.add(text);
  } catch (error) {
    throw error instanceof FaultError ? new UsageError(`--fault: ${error.message}`) : error;
  }
}
