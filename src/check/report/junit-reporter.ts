// The report as JUnit XML, as GitHub, GitLab and Jenkins read it. Written whole at the end: the counts come first in it.

import type { Reporter, Subject, Tested, Verdict, Write } from './reporter.ts';

export function junitReporter(suite: string, write: Write): Reporter {
  let subject: Subject | undefined;
  const cases: { tested: Tested; verdict: Verdict }[] = [];
  return {
    begin: (given) => {
      subject = given;
    },
    add: (tested, verdict) => cases.push({ tested, verdict }),
    end({ failed, skipped }) {
      const seconds = cases.reduce((sum, { verdict }) => sum + secondsOf(verdict), 0).toFixed(3);
      const counts = `tests="${cases.length}" failures="${failed}" errors="0" skipped="${skipped}" time="${seconds}"`;
      const properties = [
        ['driver', subject?.driver ?? ''],
        ['version', subject?.version ?? ''],
        ...Object.entries(subject?.capabilities ?? {}).map(([service, names]) => [service, names.join(' ')]),
      ].map(([name = '', value = '']) => `<property name="${xml(name)}" value="${xml(value)}"/>`);
      write(
        `${[
          '<?xml version="1.0" encoding="UTF-8"?>',
          `<testsuites name="${xml(suite)}" ${counts}>`,
          `<testsuite name="${xml(`${suite} ${subject?.driver ?? ''}`)}" ${counts}>`,
          `<properties>${properties.join('')}</properties>`,
          ...cases.map(caseOf),
          '</testsuite>',
          '</testsuites>',
        ].join('\n')}\n`,
      );
    },
  };
}

function caseOf({ tested, verdict }: { tested: Tested; verdict: Verdict }): string {
  const name = `classname="${xml(tested.group)}" name="${xml(tested.title)}" time="${secondsOf(verdict).toFixed(3)}"`;
  return `<testcase ${name}>${bodyOf(tested, verdict)}</testcase>`;
}

function bodyOf({ specification }: Tested, verdict: Verdict): string {
  if (verdict.state === 'skipped') return `<skipped message="${xml(verdict.why)}"/>`;
  const left = verdict.left.map((each) => `left behind: ${each}`);
  if (verdict.state === 'passed') {
    return left.length === 0 ? '' : `<system-out>${xml(left.join('\n'))}</system-out>`;
  }
  const text = [verdict.why, ...(specification === undefined ? [] : [specification]), ...left].join('\n');
  return `<failure message="${xml(verdict.why)}">${xml(text)}</failure>`;
}

const secondsOf = (verdict: Verdict): number => (verdict.state === 'skipped' ? 0 : verdict.ms / 1000);

/** Text of XML 1.0, also within quotes. Characters that XML cannot carry are left out. */
function xml(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;');
}
