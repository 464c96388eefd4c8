// Where the roots of nodes are kept, and what becomes of it at the end.

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog as log } from '../runtime/log/log.ts';
import { memoryMounter } from '../runtime/mount/memory-mounter.ts';
import { keepNodesInMemory } from './nodes-in-memory.ts';

async function world(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'nm-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const mounter = memoryMounter();
  return { directory, mounter, isMounted: () => mounter.isMountPoint(directory) };
}

function record(directory: string): void {
  mkdirSync(join(directory, 'n1', 'pods'), { recursive: true });
  writeFileSync(join(directory, 'n1', 'pods', 'vol_data.json'), '{}');
}

test('an empty directory becomes memory, and is none any more at the end', async (t) => {
  const { directory, mounter, isMounted } = await world(t);
  const kept = await keepNodesInMemory(directory, { mounter, log });
  assert.equal(await isMounted(), true);
  record(directory);
  await kept.release({ keepRecords: false });
  assert.equal(await isMounted(), false);
});

test('what a killed process left is taken over, and stays while a driver lives on that has something there', async (t) => {
  const { directory, mounter, isMounted } = await world(t);
  await keepNodesInMemory(directory, { mounter, log });
  record(directory);
  const kept = await keepNodesInMemory(directory, { mounter, log });
  await kept.release({ keepRecords: true });
  assert.equal(await isMounted(), true);
  await rm(join(directory, 'n1'), { recursive: true, force: true });
  await kept.release({ keepRecords: true });
  assert.equal(await isMounted(), false);
});

test('memory with a mount in it stays', async (t) => {
  const { directory, mounter, isMounted } = await world(t);
  const kept = await keepNodesInMemory(directory, { mounter, log });
  const target = join(directory, 'volume');
  mkdirSync(target);
  await mounter.bind(directory, target);
  await kept.release({ keepRecords: false });
  assert.equal(await isMounted(), true);
});

test('what is on disk already stays on disk', async (t) => {
  const { directory, mounter, isMounted } = await world(t);
  record(directory);
  const kept = await keepNodesInMemory(directory, { mounter, log });
  assert.equal(await isMounted(), false);
  await kept.release({ keepRecords: false });
});
