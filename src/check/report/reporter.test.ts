// The formats of the report: what each must escape, and what the programs that read it rely on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReport, type ReportFormat } from './reporter.ts';

/** One test of each state, with characters that the formats must escape. */
function printed(format: ReportFormat): { text: string; isWell: boolean } {
  let text = '';
  const report = createReport(format, 'berth check', (each) => {
    text += each;
  });
  report.begin({ driver: 'd.example', version: '<1>', capabilities: { controller: ['B', 'A'], node: [] } });
  report.add({ group: 'G', title: 'good' }, { state: 'passed', ms: 1500, left: ['volume v'] });
  const why = 'said: "a & b" <c>\n\u0007# 1..9';
  report.add(
    { group: 'G', title: 'bad', specification: 'https://s#x' },
    { state: 'failed', ms: 2, why, left: [] },
  );
  report.add({ group: 'G', title: 'not' }, { state: 'skipped', why: 'lacks # X' });
  return { isWell: report.end(), text };
}

test('[BYO-3] text has the capabilities, the reason and the section of the specification', () => {
  const { text, isWell } = printed('text');
  assert.equal(isWell, false);
  for (const expected of [
    /^driver +d\.example <1>\ncontroller +A, B\nnode +none\nG\n/,
    /✔ good +1500 ms\n +left behind: volume v\n/,
    /✖ bad +2 ms\n +said: [\s\S]*\n +https:\/\/s#x\n/,
    /– not \(lacks # X\)\n1 passed, 1 failed, 1 skipped\n$/,
  ]) {
    assert.match(text, expected);
  }
});

test('[BYO-3] JSON is a line for the driver, each test and the counts', () => {
  const lines = printed('json')
    .text.trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(lines.length, 5);
  assert.equal(lines[0].subject.driver, 'd.example');
  assert.deepEqual(
    lines.slice(1, 4).map(({ title, state }) => [title, state]),
    [
      ['good', 'passed'],
      ['bad', 'failed'],
      ['not', 'skipped'],
    ],
  );
  assert.deepEqual(lines[4].counts, { passed: 1, failed: 1, skipped: 1 });
});

test('[BYO-3] JUnit escapes characters that XML does not allow, and has the counts first', () => {
  const { text } = printed('junit');
  assert.match(
    text,
    /<testsuite name="berth check d\.example" tests="3" failures="1" errors="0" skipped="1" time="1\.502">/,
  );
  assert.match(text, /<property name="version" value="&lt;1&gt;"\/>/);
  assert.match(text, /<failure message="said: &quot;a &amp; b&quot; &lt;c&gt;&#10;# 1\.\.9">/);
  assert.match(text, /name="not" time="0\.000"><skipped message="lacks # X"\/>/);
  assert.ok(!text.includes('\u0007'));
});

test("[BYO-3] TAP has one line per test, whatever the driver's message, and the plan", () => {
  const { text } = printed('tap');
  const results = text.split('\n').filter((line) => /^(not )?ok |^1\.\./.test(line));
  assert.deepEqual(results, [
    'ok 1 - G: good',
    'not ok 2 - G: bad',
    'ok 3 - G: not # SKIP lacks \\# X',
    '1..3',
  ]);
});
