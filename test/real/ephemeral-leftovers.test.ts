// What is left of a real node after a crash of `berth up --ephemeral`, whose data directory nobody starts in again: nothing.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { BERTH, temporaryDirectory } from '../e2e/up-process.ts';
import { kubeletArguments, missingForContainers, stillThere } from './real-up.ts';

const skip = missingForContainers();

test('[REAL-1] the containers of an ephemeral cluster that crashed are ended by the next', {
  skip,
  timeout: 150_000,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const args = ['up', '--ephemeral', '--without', 'dashboard', ...kubeletArguments(directory)];
  const start = (): ChildProcess =>
    spawn(process.execPath, [BERTH, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: directory },
    });
  const lines = (child: ChildProcess) => createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const first = start();
  let dataDir = '';
  for await (const line of lines(first)) {
    dataDir = /starts in (\S+)/.exec(line)?.[1] ?? dataDir;
    if (line.startsWith('ready ')) break;
  }
  first.kill('SIGKILL');
  await once(first, 'exit');
  assert.notDeepEqual(stillThere(dataDir), []);
  const next = start();
  for await (const line of lines(next)) if (line.startsWith('ready ')) break;
  assert.deepEqual(stillThere(dataDir), []);
  assert.ok(!existsSync(dataDir));
  next.kill('SIGINT');
  assert.deepEqual(await once(next, 'exit'), [0, null]);
});
