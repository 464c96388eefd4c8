// A client that may write begins many large bodies and finishes none: it is told to come back later as soon as it holds its
// share, and others still write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { User } from '../../src/apiserver/pipeline.ts';
import { ADMIN_TOKEN, attackedServer, MAPS, sendPart } from './attacked-server.ts';

const ATTACKER: User = { name: 'attacker', groups: ['system:masters'] };
const BODIES = 20;
const LENGTH = 3 * 1024 * 1024;
/** 16 MiB for each client, and room for one that has just begun. */
const MOST_HELD = 6;

test('[DOOR-1] half-sent bodies are limited in bytes, for each client', { timeout: 60_000 }, async (t) => {
  const { connect, call } = await attackedServer(t, { users: { bad: ATTACKER } });
  const headers = [
    'Authorization: Bearer bad',
    `Content-Length: ${LENGTH}`,
    'Content-Type: application/json',
  ];
  const part = Buffer.alloc(LENGTH - 1, ' ');
  const refused = Promise.withResolvers<void>();
  let count = 0;
  for (let body = 0; body < BODIES; body++) {
    const socket = await connect();
    void sendPart(socket, { method: 'POST', path: MAPS, headers, part }).then(
      (code) => {
        assert.equal(code, 429);
        if (++count === BODIES - MOST_HELD) refused.resolve();
      },
      // The server closes a connection whose body it does not want, which may overtake the answer.
      () => {},
    );
  }
  const written = await call('POST', MAPS, {
    token: ADMIN_TOKEN,
    body: JSON.stringify({ metadata: { name: 'meanwhile' } }),
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(written.code, 201);
  await refused.promise;
});
