// Tests of the runner: for any behaviour of a test file it must return, count correctly and name the failure.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { lacking } from '../test/capabilities.ts';
import { clearAway, describeLeftBehind, leftBehind } from './left-behind.ts';
import { runTestFile } from './test-file.ts';

const directory = mkdtempSync(join(tmpdir(), 'runner-'));
after(() => rmSync(directory, { recursive: true, force: true }));

function runCode(name: string, code: string, { stopAtFailure = false } = {}) {
  const path = join(directory, `${name}.mjs`);
  writeFileSync(path, `import { test, describe } from 'node:test';\n${code}`);
  const env = { ...process.env };
  // Set by the runner of this file; a nested run must not count as a part of it.
  delete env.NODE_TEST_CONTEXT;
  return runTestFile({
    path,
    cwd: directory,
    env,
    testTimeoutMs: 1000,
    fileTimeoutMs: 5000,
    lingerMs: 1000,
    stopAtFailure,
  });
}

describe('a test file that', () => {
  const cases: {
    name: string;
    code: string;
    counts: [passed: number, failed: number, skipped: number];
    failures: [title: string, detail: RegExp][];
  }[] = [
    {
      name: 'passes',
      code: "describe('a', () => { test('b', () => {}); test('c', { skip: 'no root' }, () => {}); });",
      counts: [1, 0, 1],
      failures: [],
    },
    {
      name: 'fails',
      code: "describe('a', () => { test('b', () => { throw new Error('broke'); }); }); test('c', () => {});",
      counts: [1, 1, 0],
      failures: [['a › b', /broke/]],
    },
    {
      name: 'throws while loading',
      code: "throw new Error('at load');",
      counts: [0, 1, 0],
      failures: [['the file as a whole', /exit code/]],
    },
    {
      name: 'hangs in a test',
      code: "test('a', () => new Promise(() => setInterval(() => {}, 1000))); test('b', () => {});",
      counts: [1, 2, 0],
      failures: [
        ['a', /timed out/],
        ['the file as a whole', /something they started was left open/],
      ],
    },
    {
      name: 'leaves a timer running',
      code: "test('a', () => { setInterval(() => {}, 1000); });",
      counts: [1, 1, 0],
      failures: [['the file as a whole', /something they started was left open/]],
    },
    {
      name: 'never lets go of the processor',
      code: "test('a', () => { for (;;); });",
      counts: [0, 1, 0],
      failures: [['the file as a whole', /did not end within 5 s/]],
    },
    {
      name: 'exits in the middle',
      code: "test('a', () => process.exit(0));",
      counts: [0, 1, 0],
      failures: [['the file as a whole', /before its tests/]],
    },
  ];
  for (const { name, code, counts, failures } of cases) {
    test(name, async () => {
      const result = await runCode(name.replaceAll(' ', '-'), code);
      const found = JSON.stringify(result.failures);
      assert.deepEqual(
        result.failures.map(({ title }) => title),
        failures.map(([title]) => title),
        found,
      );
      for (const [i, [, detail]] of failures.entries())
        assert.match(result.failures[i]?.detail ?? '', detail);
      assert.deepEqual([result.passed, result.failed, result.skipped], counts, found);
    });
  }
});

test('what tests print is kept, also in the middle of a line', async () => {
  const result = await runCode(
    'prints',
    "test('a', () => { process.stdout.write('half'); console.error('oops'); });",
  );
  assert.equal(result.passed, 1);
  assert.match(result.output, /half/);
  assert.match(result.output, /oops/);
});

test('a process left behind is found by its mark and ended', async () => {
  const mark = `BERTH_PLANTED=${directory}`;
  const child = spawn('sleep', ['600'], {
    env: { ...process.env, BERTH_PLANTED: directory },
    stdio: 'ignore',
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  // Until it has become `sleep`, it still has our own environment.
  while (!readFileSync(`/proc/${child.pid}/cmdline`, 'utf8').startsWith('sleep'))
    await new Promise(setImmediate);
  const left = leftBehind({ mark, directory });
  assert.deepEqual(describeLeftBehind(left), [`process ${child.pid} still runs: sleep 600`]);
  clearAway(left);
  await exited;
  assert.deepEqual(describeLeftBehind(leftBehind({ mark, directory })), []);
});

test('a mount and a loop device left behind are found and removed', { skip: lacking('root', 'loop') }, () => {
  const inside = mkdtempSync(join(directory, 'left behind '));
  const tracked = { mark: 'BERTH_PLANTED=nowhere', directory: inside };
  const mountPoint = join(inside, 'mount');
  mkdirSync(mountPoint);
  execFileSync('mount', ['-t', 'tmpfs', 'planted', mountPoint]);
  const image = join(inside, 'image');
  writeFileSync(image, Buffer.alloc(1 << 20));
  const device = execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8' }).trim();
  const left = leftBehind(tracked);
  clearAway(left);
  assert.deepEqual(describeLeftBehind(left), [
    `${mountPoint} is still mounted`,
    `${device} is still attached to ${image}`,
  ]);
  assert.deepEqual(describeLeftBehind(leftBehind(tracked)), []);
});

test('with stopAtFailure, a file ends at its first failure', async () => {
  const result = await runCode(
    'stops-early',
    "test('a', () => { throw new Error('broke'); }); test('b', () => new Promise(() => setInterval(() => {}, 1000)));",
    { stopAtFailure: true },
  );
  assert.deepEqual(
    result.failures.map(({ title, detail }) => [title, detail.split('\n')[0]]),
    [
      ['a', 'Error: broke'],
      ['the file as a whole', 'stopped at its first failure'],
    ],
  );
});
