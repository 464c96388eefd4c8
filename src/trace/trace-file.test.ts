import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { memoryLog } from '../runtime/log/log.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { TraceBook } from './trace-book.ts';
import type { ApiEntry } from './trace-entry.ts';
import { keepTrace } from './trace-file.ts';

const entry = (name: string): Omit<ApiEntry, 'seq'> => ({
  kind: 'api',
  atMs: 1,
  by: 'a client',
  verb: 'created',
  object: { kind: 'Pod', name },
  uid: name,
  changes: [],
  self: `pod ns/${name}`,
  links: [],
});

async function run(path: string, names: readonly string[]) {
  const clock = new VirtualClock();
  const book = new TraceBook({ clock });
  const log = memoryLog();
  const file = await keepTrace({ path, book, clock, log });
  const before = book.entries().map((each) => (each as ApiEntry).uid);
  for (const name of names) book.note(() => entry(name));
  return { before, book, clock, file, log };
}

const linesOf = async (path: string) => (await readFile(path, 'utf8')).split('\n').length - 1;

test('[WHY-3] the next run reads what this one recorded, in order; the file is readable by its owner only', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'trace-')), 'trace.jsonl');
  const first = await run(path, ['a', 'b']);
  assert.deepEqual(first.before, []);
  await first.file.stop();
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  const second = await run(path, ['c']);
  assert.deepEqual(second.before, ['a', 'b']);
  await second.file.stop();
  assert.deepEqual((await run(path, [])).before, ['a', 'b', 'c']);
});

test('[WHY-3] a killed run leaves what it had written, and a truncated last line is ignored', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'trace-')), 'trace.jsonl');
  const killed = await run(path, ['a']);
  await killed.clock.advance(2_000);
  await killed.file.stop();
  await appendFile(path, '{"kind":"api","atMs":1,"li');
  const next = await run(path, ['b']);
  assert.deepEqual(next.before, ['a']);
  await next.file.stop();
  assert.deepEqual((await run(path, [])).before, ['a', 'b']);
});

test('[WHY-3] the size of the trace file is bounded', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'trace-')), 'trace.jsonl');
  for (let i = 0; i < 4; i++) {
    const names = Array.from({ length: 4_000 }, (_, j) => `${i}-${j}`);
    await (await run(path, names)).file.stop();
    assert.ok((await linesOf(path)) <= 10_000, `${await linesOf(path)}`);
  }
  const { before } = await run(path, []);
  assert.equal(before.length, 5_000);
  assert.equal(before.at(-1), '3-3999');
});

test('a trace file that cannot be written stops nothing else', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'trace-'));
  await writeFile(join(directory, 'file'), '');
  const { file, book, log } = await run(join(directory, 'file', 'trace.jsonl'), ['a']);
  await file.stop();
  assert.equal(book.entries().length, 1);
  assert.match(log.text(), /The trace could not be written/);
});
