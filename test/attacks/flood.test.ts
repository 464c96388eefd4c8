// One client asks for many large lists at once; another asks for one object, last. It need not wait for all of them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { configMaps } from '../../src/api/kinds.ts';
import type { User } from '../../src/apiserver/pipeline.ts';
import { attackedServer, MAPS } from './attacked-server.ts';

const LISTS = 40;
const OBJECTS = 2_000;
const user = (name: string): User => ({ name, groups: ['system:masters'] });

test('[DOOR-7] a get is answered before a flood of lists by another client', {
  timeout: 60_000,
}, async (t) => {
  const { server, connect } = await attackedServer(t, {
    users: { flood: user('flood'), quiet: user('quiet') },
  });
  const client = server.client(server.adminUser);
  for (let count = 0; count < OBJECTS; count++) {
    const metadata = { namespace: 'default', name: `map-${count}` };
    await client.create(configMaps, { metadata, data: { text: 'x'.repeat(1000) } });
  }
  const flood = await Promise.all(Array.from({ length: LISTS }, connect));
  const quiet = await connect();
  const answered: string[] = [];
  const ask = async (socket: TLSSocket, token: string, path: string): Promise<void> => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    const [head] = await once(socket, 'data');
    assert.match(String(head), /^HTTP\/1\.1 200/);
    answered.push(token);
    socket.resume();
  };
  const lists = flood.map((socket) => ask(socket, 'flood', MAPS));
  await ask(quiet, 'quiet', `${MAPS}/map-0`);
  await Promise.all(lists);
  const before = answered.indexOf('quiet');
  assert.ok(before < LISTS / 2, `${before} of ${LISTS} lists were answered first`);
});
