// The journal in its worker thread, on real files.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { lacking } from '../../../test/capabilities.ts';
import { openLinuxMounter } from '../../runtime/mount/linux-mounter.ts';
import { type JournalRecord, RetryableCommitError } from './journal.ts';
import { openJournalThread } from './journal-thread.ts';

async function directoryOf(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'jt-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

function record(revision: number, text = `"${revision}"`): JournalRecord {
  return { revision, type: 'configmaps', key: `a/${revision}`, text, replaces: 0 };
}

test('a journal loads more rows than fit one message, in order', async (t) => {
  const directory = await directoryOf(t);
  const journal = await openJournalThread(directory);
  await journal.commit(Array.from({ length: 2_500 }, (_, at) => record(at + 1)));
  await journal.commit([{ ...record(2_501), text: undefined, replaces: 2 }]);
  await journal.close();
  const again = await openJournalThread(directory);
  const rows = [...again.load()];
  assert.equal(again.revision, 2_501);
  assert.equal(rows.length, 2_499);
  assert.deepEqual(
    rows.map(({ bytes }) => Buffer.from(bytes).toString()),
    rows.map(({ revision }) => `"${revision}"`),
  );
  assert.deepEqual([...again.load()], [], 'what was given is not kept');
  await again.close();
});

test("when a journal's thread dies, pending and later commits fail, and its file can be opened again", async (t) => {
  const threads: Worker[] = [];
  const note = (thread: Worker): void => void threads.push(thread);
  process.on('worker', note);
  t.after(() => process.off('worker', note));
  const directory = await directoryOf(t);
  const journal = await openJournalThread(directory);
  await journal.commit([record(1)]);
  const waiting = journal.commit(Array.from({ length: 20_000 }, (_, at) => record(at + 2)));
  const [failed] = await Promise.allSettled([waiting, threads[0]?.terminate()]);
  assert.equal(failed.status, 'rejected');
  await assert.rejects(journal.commit([record(30_000)]), /the thread that writes .*state\.db has ended/);
  await journal.close();
  const again = await openJournalThread(directory);
  assert.ok([...again.load()].some(({ revision }) => revision === 1));
  await again.close();
});

test('a full disk fails the whole batch; later batches are tried again', {
  skip: lacking('root'),
}, async (t) => {
  const disk = join(await directoryOf(t), 'disk');
  await mkdir(disk);
  const mounter = await openLinuxMounter();
  await mounter.mount({ source: 'tmpfs', target: disk, fsType: 'tmpfs', options: ['size=1m'] });
  try {
    const journal = await openJournalThread(disk);
    await journal.commit([record(1)]);
    const tooMuch = [record(2), record(3, JSON.stringify('x'.repeat(2_000_000)))];
    await assert.rejects(journal.commit(tooMuch), (error: Error) => {
      assert.ok(error instanceof RetryableCommitError);
      assert.match(error.message, /^writing 2 change\(s\) to .*state\.db failed: .*full/);
      return true;
    });
    await journal.commit([record(4)]);
    await journal.close();
    const again = await openJournalThread(disk);
    assert.deepEqual(
      [...again.load()].map(({ revision }) => revision),
      [1, 4],
    );
    await again.close();
  } finally {
    await mounter.unmount(disk);
    await rmdir(disk);
  }
});

test('an idle journal does not keep the process alive, a commit in flight does', async (t) => {
  const directory = await directoryOf(t);
  const script = `
    const { openJournalThread } = await import(${JSON.stringify(new URL('./journal-thread.ts', import.meta.url))});
    const journal = await openJournalThread(${JSON.stringify(directory)});
    void journal.commit([{ revision: 1, type: 't', key: 'k', text: '{}', replaces: 0 }]).then(() => console.log('written'));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'pipe' });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (output += bytes));
  const [code] = await once(child, 'close');
  assert.deepEqual({ code, output }, { code: 0, output: 'written\n' });
});
