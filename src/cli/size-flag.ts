// A flag with a size, in bytes or as a Kubernetes quantity.

import { parseQuantity } from '../api/quantity.ts';
import { type Flag, flagOf, InvalidValue } from '../runtime/flags/flag.ts';

const NANO = 1_000_000_000n;

export function sizeFlag(help: string): Flag<bigint> {
  return flagOf<bigint>(
    {
      type: 'size',
      parse(text) {
        try {
          return parseQuantity(text).nano / NANO;
        } catch {
          throw new InvalidValue('must be a size, such as 1Gi');
        }
      },
      format: String,
    },
    { help, default: 1_073_741_824n },
  );
}
