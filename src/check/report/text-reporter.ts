// The report for people: a line for each test as it ends, below its group.

import type { Reporter, Write } from './reporter.ts';

const WIDTH = 76;

export function textReporter(write: Write): Reporter {
  let group = '';
  return {
    begin({ driver, version, capabilities }) {
      write(`driver        ${driver} ${version}\n`);
      for (const [service, names] of Object.entries(capabilities)) {
        write(`${service.padEnd(14)}${names.toSorted().join(', ') || 'none'}\n`);
      }
    },
    add(tested, verdict) {
      if (tested.group !== group) write(`${tested.group}\n`);
      group = tested.group;
      if (verdict.state === 'skipped') {
        write(`  – ${tested.title} (${verdict.why})\n`);
        return;
      }
      const mark = verdict.state === 'passed' ? '✔' : '✖';
      write(`  ${`${mark} ${tested.title}`.padEnd(WIDTH)} ${Math.round(verdict.ms)} ms\n`);
      if (verdict.state === 'passed' && verdict.note !== undefined) write(`      ${verdict.note}\n`);
      if (verdict.state === 'failed') {
        write(`      ${verdict.why}\n`);
        if (tested.specification !== undefined) write(`      ${tested.specification}\n`);
      }
      for (const each of verdict.left) write(`      left behind: ${each}\n`);
    },
    end: ({ passed, failed, skipped }) => write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`),
  };
}
