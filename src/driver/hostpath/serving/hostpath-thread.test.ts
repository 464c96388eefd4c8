// hostpath in its thread, over its real sockets.

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { connectCsi } from '../../../csi/client/connect-csi.ts';
import { csiClient } from '../../../csi/client/csi-client.ts';
import { Identity, Node } from '../../../csi/index.ts';
import { memoryLog, silentLog } from '../../../runtime/log/log.ts';
import { realClock } from '../../../runtime/time/clock.ts';
import { startHostpathThread } from './hostpath-thread.ts';
import type { HostpathPlan } from './serve-hostpath.ts';

async function planIn(t: TestContext): Promise<HostpathPlan> {
  const directory = await mkdtemp(join(tmpdir(), 'ht-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return {
    home: join(directory, 'h'),
    version: '1.2.3',
    controllerSocket: join(directory, 'c.sock'),
    nodes: [{ nodeId: 'n1', topology: { zone: 'a' }, socket: join(directory, 'n.sock') }],
  };
}

test('a driver in a thread serves its controller and its nodes, and is gone when it is stopped', async (t) => {
  const plan = await planIn(t);
  const thread = await startHostpathThread(plan, { log: silentLog, clock: realClock });
  const connections = [plan.controllerSocket, plan.nodes[0]?.socket ?? ''].map((address) =>
    connectCsi({ address, clock: realClock, log: silentLog }),
  );
  const [controller, node] = connections as [(typeof connections)[0], (typeof connections)[0]];
  const options = { timeoutMs: 20_000 };
  const info = await csiClient(Identity, controller, options).getPluginInfo({}, {});
  assert.equal(info.vendorVersion, '1.2.3');
  assert.equal((await csiClient(Node, node, options).nodeGetInfo({}, {})).nodeId, 'n1');
  for (const connection of connections) connection.close();
  await thread.stop();
  assert.equal(existsSync(plan.controllerSocket), false);
});

test('a driver whose thread dies is started again, and serves on the same sockets', async (t) => {
  const plan = await planIn(t);
  const threads: Worker[] = [];
  const note = (thread: Worker): void => void threads.push(thread);
  process.on('worker', note);
  t.after(() => process.off('worker', note));
  const log = memoryLog();
  const thread = await startHostpathThread(plan, { log, clock: realClock });
  t.after(() => thread.stop());
  assert.equal(threads.length, 1);
  const ended = new Promise((resolve) => threads[0]?.once('exit', resolve));
  thread.kill();
  await ended;
  const connection = connectCsi({ address: plan.controllerSocket, clock: realClock, log: silentLog });
  t.after(() => connection.close());
  await connection.waitForReady();
  const identity = csiClient(Identity, connection, { timeoutMs: 20_000 });
  assert.equal((await identity.getPluginInfo({}, {})).vendorVersion, '1.2.3');
  assert.equal(threads.length, 2);
  assert.match(log.text(), /The driver thread ended; restarting it/);
});

test('why a thread cannot start is told', async (t) => {
  const plan = await planIn(t);
  writeFileSync(plan.home, 'in the way');
  await assert.rejects(startHostpathThread(plan, { log: silentLog, clock: realClock }), /ENOTDIR|EEXIST/);
});
