import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { defineBenchmark, measure, Unavailable } from './harness.ts';
import { processUsage } from './process-usage.ts';
import { report, summarize, table } from './statistics.ts';

test('candidates are measured in turns after their warm-ups, stopped, and those that cannot run are named', async () => {
  const calls: string[] = [];
  const directories: string[] = [];
  const candidate =
    (name: string) =>
    async ({ directory, flags }: { directory: string; flags: { size: number } }) => {
      directories.push(directory);
      assert.ok(existsSync(directory));
      return {
        round: async () => {
          calls.push(name);
          return { operations: flags.size, figures: { 'seen ms': calls.length } };
        },
        stop: () => {
          calls.push(`stop ${name}`);
        },
      };
    };
  const benchmark = defineBenchmark({
    summary: 'A test',
    operation: 'thing',
    flags: { size: intFlag({ help: 'size', default: 1 }) },
    candidates: {
      a: candidate('a'),
      missing: async () => {
        throw new Unavailable('not installed');
      },
      b: candidate('b'),
    },
  });
  const measured = await measure({ benchmark, flags: { size: 10 }, warmups: 1, repeats: 2 });
  assert.deepEqual(calls, ['a', 'b', 'a', 'b', 'a', 'b', 'stop a', 'stop b']);
  assert.deepEqual(measured.unavailable, { missing: 'not installed' });
  assert.deepEqual(measured.candidates.a?.['seen ms'], [3, 5]);
  assert.deepEqual(Object.keys(measured.candidates.b ?? {}), [
    'things/s',
    'ms/thing',
    'self CPU ms/thing',
    'self peak MB',
    'seen ms',
  ]);
  assert.ok(directories.every((directory) => !existsSync(directory)));
});

test('a failing round stops every candidate and fails the run', async () => {
  const stopped: string[] = [];
  const benchmark = defineBenchmark({
    summary: 'A test',
    operation: 'thing',
    candidates: {
      broken: async () => ({
        round: () => Promise.reject(new Error('broke')),
        stop: () => void stopped.push('broken'),
      }),
    },
  });
  await assert.rejects(measure({ benchmark, flags: {}, warmups: 0, repeats: 1 }), /broke/);
  assert.deepEqual(stopped, ['broken']);
});

test('the processor time of another process is seen', async () => {
  const child = spawn(process.execPath, ['-e', 'const end = Date.now() + 60000; while (Date.now() < end);']);
  try {
    const pid = child.pid as number;
    while ((processUsage(pid)?.cpuMs ?? 0) < 50) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok((processUsage(pid)?.peakMemoryBytes ?? 0) > 1e6);
  } finally {
    child.kill('SIGKILL');
  }
});

test('a process that is not there has no usage', () => assert.equal(processUsage(2 ** 22 + 1), undefined));

test('median and spread', () => {
  assert.deepEqual(summarize([3, 1, 2]), { median: 2, min: 1, max: 3, spread: 0.5 });
  assert.deepEqual(summarize([4, 2]), { median: 3, min: 2, max: 4, spread: 1 / 3 });
  assert.throws(() => summarize([]), RangeError);
});

test('the table compares with the baseline', () => {
  const measured = {
    candidates: { old: { 'calls/s': [100, 100], 'only old': [0] }, new: { 'calls/s': [250, 150] } },
    unavailable: {},
  };
  assert.equal(
    table(report(measured)),
    `              old               new
calls/s   100 ±0%  200 ±25% (2.00×)
only old    0 ±0%                 –
`,
  );
  assert.deepEqual(report(measured, 'new').ratios, { old: { 'calls/s': 0.5 }, new: { 'calls/s': 1 } });
});
