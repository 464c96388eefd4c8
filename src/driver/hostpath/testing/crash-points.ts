// For tests: kills a hostpath process before each step of a scenario in turn, and verifies that recovery and a retry of
// the same call leave nothing behind.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { silentLog } from '../../../runtime/log/log.ts';
import { openLinuxMounter } from '../../../runtime/mount/linux-mounter.ts';
import { realRandom } from '../../../runtime/random.ts';
import { realClock } from '../../../runtime/time/clock.ts';
import { openStateStore } from '../../state/state-store.ts';
import { createHostpath } from '../create-hostpath.ts';
import { openRecords } from '../state/records.ts';
import { readProgress, runScenario } from './crash-scenarios.ts';
import { cleanUp, leftovers, listContents } from './hostpath-fixture.ts';

// The kernel is the bottleneck, and the machine may have two processors.
const PARALLEL = 3;

export async function crashAtEveryStep(name: string): Promise<void> {
  // Start-up dominates the cost of a run, and compilation dominates start-up.
  const compileCache = await mkdtemp(join(tmpdir(), 'berth-compiled-'));
  try {
    const steps = await inTemporaryRoot((root) => run({ name, root, compileCache, stopAt: 0 }));
    assert.equal(steps.signal, null, 'the scenario ends when nothing kills it');
    assert.ok(steps.names.length > 3, 'there are steps to stop at');
    // The same step of a repeated call is tested once.
    const points = steps.names
      .map((step, at) => ({ step, at: at + 1 }))
      .filter(({ step, at }) => steps.names.indexOf(step) === at - 1);
    const workers = Array.from({ length: PARALLEL }, async () => {
      for (let point = points.shift(); point !== undefined; point = points.shift()) {
        await crashAndRepair({ name, compileCache, ...point });
      }
    });
    const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  } finally {
    await rm(compileCache, { recursive: true });
  }
}

async function crashAndRepair(point: {
  name: string;
  compileCache: string;
  at: number;
  step: string;
}): Promise<void> {
  const { name, compileCache, at, step } = point;
  const where = `${name}, killed before step ${at} (${step})`;
  await inTemporaryRoot(async (root) => {
    const { signal } = await run({ name, root, compileCache, stopAt: at });
    assert.equal(signal, 'SIGKILL', where);
    await checkAfterStart(root, where);
    await runScenario(name, root, { from: readProgress(root) }).catch((error: Error) => {
      throw new Error(`${where}: the repeated call failed: ${error.message}`, { cause: error });
    });
    assert.deepEqual(await leftovers(root), [], `${where}: mounts or loop devices are left`);
    assert.deepEqual(await listContents(join(root, 'state')), { volumes: [], snapshots: [] }, where);
    assert.deepEqual(recordsIn(root), [], `${where}: records are left`);
  });
}

/** Without a retry too: nothing on disk without a record, no record without content, none unfinished. */
async function checkAfterStart(root: string, where: string): Promise<void> {
  const hostpath = await createHostpath({
    clock: realClock,
    random: realRandom,
    log: silentLog,
    mounter: await openLinuxMounter(),
    stateDir: join(root, 'state'),
  });
  hostpath.close();
  const store = openStateStore(join(root, 'state', 'state.db'));
  const { volumes, snapshots } = openRecords(store);
  const ready = <T extends { state: string }>(all: { key: string; record: T }[]) =>
    all.map(({ key, record }) => `${key} ${record.state}`);
  const contents = await listContents(join(root, 'state'));
  assert.deepEqual(
    ready(volumes.list()),
    contents.volumes.map((id) => `${id} ready`),
    `${where}: after start-up`,
  );
  assert.deepEqual(
    ready(snapshots.list()),
    contents.snapshots.map((id) => `${id} ready`),
    `${where}: after start-up`,
  );
  store.close();
}

function recordsIn(root: string): string[] {
  const store = openStateStore(join(root, 'state', 'state.db'));
  const { nodes, ...rest } = openRecords(store);
  assert.equal(nodes.count(), 1);
  const left = Object.entries(rest).flatMap(([name, collection]) =>
    collection.list().map(({ key }) => `${name} ${key}`),
  );
  store.close();
  return left;
}

async function inTemporaryRoot<T>(work: (root: string) => Promise<T>): Promise<T> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'berth-crash-')));
  try {
    return await work(root);
  } finally {
    await cleanUp(root);
    await rm(root, { recursive: true, force: true });
  }
}

function run(options: {
  name: string;
  root: string;
  compileCache: string;
  stopAt: number;
}): Promise<{ signal: string | null; names: string[] }> {
  const { name, root, compileCache, stopAt } = options;
  const script = fileURLToPath(new URL('./crash-scenarios.ts', import.meta.url));
  const child = spawn(process.execPath, [script, name, root, String(stopAt)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code !== null && code !== 0)
        reject(new Error(`the scenario ${name} failed with exit code ${code}`));
      else resolve({ signal, names: output.trim().split('\n').filter(Boolean) });
    });
  });
}
