import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { realClock } from '../../../runtime/time/clock.ts';
import { diskFiles } from './volume-files.ts';

test('a machine without cp is told which package has it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'vf-'));
  const { PATH } = process.env;
  t.after(async () => {
    process.env.PATH = PATH;
    await rm(directory, { recursive: true, force: true });
  });
  await mkdir(join(directory, 'from'));
  process.env.PATH = join(directory, 'nothing');
  const copied = diskFiles(realClock).copy(join(directory, 'from'), join(directory, 'to'));
  await assert.rejects(copied, /from: .*cp is not installed; it is in the package coreutils/);
});
