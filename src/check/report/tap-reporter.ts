// The report in the Test Anything Protocol, version 14: a line for each test as it ends, the plan last.

import type { Reporter, Write } from './reporter.ts';

export function tapReporter(write: Write): Reporter {
  let count = 0;
  return {
    begin({ driver, version, capabilities }) {
      write(`TAP version 14\n# driver ${plain(`${driver} ${version}`)}\n`);
      for (const [service, names] of Object.entries(capabilities)) {
        write(`# ${service}: ${names.toSorted().join(', ') || 'none'}\n`);
      }
    },
    add({ group, title, specification }, verdict) {
      count += 1;
      const name = plain(`${group}: ${title}`);
      if (verdict.state === 'skipped') {
        write(`ok ${count} - ${name} # SKIP ${plain(verdict.why)}\n`);
        return;
      }
      write(`${verdict.state === 'passed' ? 'ok' : 'not ok'} ${count} - ${name}\n`);
      const details = {
        duration_ms: Math.round(verdict.ms),
        ...(verdict.state === 'failed' && { message: verdict.why }),
        ...(verdict.state === 'failed' && specification !== undefined && { specification }),
        ...(verdict.left.length > 0 && { left: verdict.left }),
      };
      // JSON values are YAML values.
      const lines = Object.entries(details).map(([key, value]) => `  ${key}: ${JSON.stringify(value)}\n`);
      write(`  ---\n${lines.join('')}  ...\n`);
    },
    end: () => write(`1..${count}\n`),
  };
}

/** `#` would begin a directive, a line break the next test. */
const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll('#', '\\#');
