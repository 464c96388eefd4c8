// The report as JSON lines: `{"subject": …}` first, a line for each test as it ends, `{"counts": …}` last.

import type { Reporter, Write } from './reporter.ts';

export function jsonReporter(write: Write): Reporter {
  const line = (value: object): unknown => write(`${JSON.stringify(value)}\n`);
  return {
    begin: (subject) => line({ subject }),
    add: ({ group, title, specification }, verdict) => line({ group, title, specification, ...verdict }),
    end: (counts) => line({ counts }),
  };
}
