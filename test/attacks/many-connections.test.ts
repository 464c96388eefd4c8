// One client opens connections and watches without end: others still get theirs.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import type { User } from '../../src/apiserver/pipeline.ts';
import { Identity, implement, serveCsi } from '../../src/csi/index.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import type { Log } from '../../src/runtime/ports.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { ADMIN_TOKEN, attackedServer, MAPS } from './attacked-server.ts';

const GREEDY: User = { name: 'greedy', groups: ['system:masters'] };
/** The last warning. */
function listeningLog(): { log: Log; warned: Promise<string> } {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { log: { ...silentLog, warn: (message) => resolve(message) }, warned: promise };
}

/** Sends a GET; resolves to the head of the answer, or what came of it when the connection was closed. */
async function ask(socket: TLSSocket, path: string, token?: string): Promise<string> {
  let head = '';
  socket.on('data', (chunk: Buffer) => {
    head += chunk.toString('latin1');
  });
  const credentials = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${credentials}\r\n`);
  while (!head.includes('\r\n\r\n') && !socket.destroyed) {
    await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  }
  return head;
}

test('[DOOR-7] a client has its share of watches, and gets more when it ends some', async (t) => {
  const { connect: open } = await attackedServer(t, { users: { greedy: GREEDY }, limits: { maxWatches: 8 } });
  const watch = async (token: string): Promise<{ socket: TLSSocket; head: string }> => {
    const socket = await open();
    return { socket, head: await ask(socket, `${MAPS}?watch=true`, token) };
  };
  const first = await watch('greedy');
  assert.match(first.head, /^HTTP\/1\.1 200/);
  assert.match((await watch('greedy')).head, /^HTTP\/1\.1 200/);
  const third = await watch('greedy');
  assert.match(third.head, /^HTTP\/1\.1 429/);
  assert.match(third.head, /retry-after: 1/i);
  assert.match((await watch(ADMIN_TOKEN)).head, /^HTTP\/1\.1 200/);
  first.socket.destroy();
  while (!(await watch('greedy')).head.startsWith('HTTP/1.1 200'));
});

test('[DOOR-7] a client has its share of connections, known or anonymous', async (t) => {
  const users = { greedy: GREEDY };
  const { connect: open } = await attackedServer(t, { users, limits: { maxConnections: 8 } });
  for (const token of ['greedy', undefined]) {
    for (const expected of [/ 200 /, / 200 /, / 429 /]) {
      const head = await ask(await open(), '/healthz', token);
      assert.match(head, expected, token);
      if (head.includes(' 429 ')) {
        assert.match(head, /retry-after: 1/i);
        assert.match(head, /connection: close/i);
      }
    }
  }
  assert.match(await ask(await open(), MAPS, ADMIN_TOKEN), / 200 /);
});

test('[DOOR-7] a connection without valid credentials ends with its answer', async (t) => {
  const { connect: open } = await attackedServer(t);
  const head = await ask(await open(), '/healthz', 'no-such-token');
  assert.match(head, / 401 /);
  assert.match(head, /connection: close/i);
});

test('[DOOR-7] connections beyond the total are closed, and the log says so', async (t) => {
  const { log, warned } = listeningLog();
  const { server, connect: open } = await attackedServer(t, { log, limits: { maxConnections: 4 } });
  const sockets = await Promise.all(Array.from({ length: 4 }, open));
  const fifth = connect(Number(new URL(server.url as string).port), '127.0.0.1');
  await once(fifth, 'close');
  assert.match(await warned, /connections were closed at once, because too many are open/);
  sockets[0]?.destroy();
  for (;;) {
    const socket = await open().catch(() => undefined);
    if (socket !== undefined) break;
  }
});

test('[DOOR-7] connections to a CSI socket are limited, and the log says so', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-many-'));
  const address = join(directory, 's');
  const { log, warned } = listeningLog();
  const services = [implement(Identity, { probe: () => ({}) })];
  const server = await serveCsi({ address, services, log, clock: realClock });
  const sockets = Array.from({ length: 256 }, () => connect(address));
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await server.stop(0);
    await rm(directory, { recursive: true, force: true });
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const another = connect(address);
  await once(another, 'close');
  assert.match(await warned, /connections were closed at once, because too many are open/);
});
