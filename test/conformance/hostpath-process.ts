// `berth driver hostpath` as a process of its own, for suites that test a driver over its socket.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const berth = fileURLToPath(new URL('../../bin/berth', import.meta.url));

/** Listens on `s` below `root`, and keeps its state there. */
export async function startHostpath(root: string, flags: string[] = []): Promise<{ stop(): Promise<void> }> {
  const child = spawn(
    process.execPath,
    [
      berth,
      'driver',
      'hostpath',
      `--endpoint=unix://${root}/s`,
      '--node-id=n1',
      `--state-dir=${root}/state`,
      '--max-volumes-per-node=8',
      ...flags,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = once(child, 'exit');
  const ready = once(createInterface(child.stdout), 'line');
  const first = await Promise.race([ready, exited]);
  assert.deepEqual(first, [`ready unix://${root}/s`]);
  return {
    async stop() {
      child.kill('SIGTERM');
      assert.deepEqual(await exited, [0, null], 'the driver stops cleanly');
    },
  };
}
