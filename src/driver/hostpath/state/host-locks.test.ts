import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { openSystemCalls } from '../../../runtime/mount/linux-mounter.ts';
import { commandSystemCalls } from '../../../runtime/mount/mount-command.ts';
import { realClock } from '../../../runtime/time/clock.ts';
import { fileLocks, processLocks } from './host-locks.ts';

describe('locks of a machine', { skip: process.platform !== 'linux' && 'they are Linux locks' }, () => {
  let root = '';
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'berth-lock-'));
  });
  after(() => rm(root, { recursive: true }));

  it('are granted in order of request, and other keys do not wait', async () => {
    const locks = processLocks();
    const order: string[] = [];
    const first = Promise.withResolvers<void>();
    const work = (name: string, until?: Promise<void>) => async () => {
      order.push(name);
      await until;
    };
    const all = [
      locks.exclusive('a', work('a1', first.promise)),
      locks.exclusive('a', work('a2')),
      locks.exclusive('a', work('a3')),
      locks.exclusive('b', work('b1')),
    ];
    await all[3];
    assert.equal(await locks.ifFree('a', work('never')), false);
    assert.deepEqual(order, ['a1', 'b1']);
    first.resolve();
    await Promise.all(all);
    assert.deepEqual(order, ['a1', 'b1', 'a2', 'a3']);
    assert.equal(await locks.ifFree('a', work('free')), true);
  });

  it('are free again after a failure, and given up by a caller that gives up', async () => {
    const locks = processLocks();
    await assert.rejects(
      locks.exclusive('a', () => Promise.reject(new Error('no'))),
      /no/,
    );
    const held = Promise.withResolvers<void>();
    const holder = locks.exclusive('a', () => held.promise);
    const patience = new AbortController();
    const waiter = locks.exclusive('a', async () => assert.fail('it gave up'), patience.signal);
    patience.abort(new Error('gave up'));
    await assert.rejects(waiter, /gave up/);
    held.resolve();
    await holder;
    assert.equal(await locks.ifFree('a', async () => {}), true);
  });

  it('hold between processes, and go with the one that is killed', async () => {
    const path = join(root, 'lock');
    const locks = fileLocks(path, { calls: await openSystemCalls(), clock: realClock });
    const other = await holdInChild(path, 'a');
    assert.equal(await locks.ifFree('a', async () => assert.fail('it is held')), false);
    assert.equal(await locks.ifFree('b', async () => {}), true);
    let entered = false;
    const waiting = locks.exclusive('a', async () => {
      entered = true;
    });
    assert.equal(entered, false);
    const died = once(other, 'exit');
    other.kill('SIGKILL');
    await died;
    await waiting;
    assert.equal(entered, true);
    locks.close();
  });

  it('admit one process alone where bytes cannot be locked', () => {
    const path = join(root, 'alone');
    const options = { calls: commandSystemCalls(), clock: realClock };
    const first = fileLocks(path, options);
    assert.throws(() => fileLocks(path, options), /another process uses the state directory/);
    first.close();
    fileLocks(path, options).close();
  });
});

async function holdInChild(path: string, key: string): Promise<ChildProcess> {
  const url = (relative: string) => JSON.stringify(new URL(relative, import.meta.url).href);
  const source = `
    import { fileLocks } from ${url('./host-locks.ts')};
    import { realClock } from ${url('../../../runtime/time/clock.ts')};
    import { openSystemCalls } from ${url('../../../runtime/mount/linux-mounter.ts')};
    const locks = fileLocks(${JSON.stringify(path)}, { calls: await openSystemCalls(), clock: realClock });
    await locks.exclusive(${JSON.stringify(key)}, async () => {
      console.log('held');
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  assert.equal(line, 'held');
  return child;
}
