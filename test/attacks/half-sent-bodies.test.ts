// A client that may write begins many large bodies and finishes none: it holds no more than its share, and others write
// meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultBodyLimits } from '../../src/apiserver/http/body-reader.ts';
import type { User } from '../../src/apiserver/pipeline.ts';
import { ADMIN_TOKEN, attackedServer, MAPS, sendPart } from './attacked-server.ts';

const ATTACKER: User = { name: 'attacker', groups: ['system:masters'] };
const BODIES = 20;
const LENGTH = 3 * 1024 * 1024;

test('[DOOR-1] half-sent bodies hold no more than one client may', { timeout: 60_000 }, async (t) => {
  const { connect, call } = await attackedServer(t, { users: { bad: ATTACKER } });
  const headers = [
    'Authorization: Bearer bad',
    `Content-Length: ${LENGTH}`,
    'Content-Type: application/json',
  ];
  const part = Buffer.alloc(LENGTH - 1, ' ');
  for (let body = 0; body < BODIES; body++) {
    // Closed at the end without an answer.
    sendPart(await connect(), { method: 'POST', path: MAPS, headers, part }).catch(() => {});
  }
  const gauge = async (name: string): Promise<number> => {
    const { text } = await call('GET', '/metrics', { token: ADMIN_TOKEN });
    return Number(new RegExp(`^${name} ([0-9]+)$`, 'm').exec(text)?.[1]);
  };
  while ((await gauge('berth_apiserver_request_bodies')) !== BODIES);
  const { bytes } = defaultBodyLimits.perClient;
  const held = await gauge('berth_apiserver_request_body_bytes');
  assert.ok(held > 0 && held <= bytes, `${held} bytes are held`);
  const written = await call('POST', MAPS, {
    token: ADMIN_TOKEN,
    body: JSON.stringify({ metadata: { name: 'meanwhile' } }),
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(written.code, 201);
});
