// A watch whose client is gone before its turn. What watches show is tested over HTTPS.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { streamWatch, type WatchStreamOptions } from './watch-stream.ts';

test('[DOOR-7] a watch whose client disconnected while it was queued does not start and does not count', async (t) => {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = createServer((_message, response) => asked.resolve(response)).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const client = request({ port: (server.address() as AddressInfo).port });
  client.on('error', () => {});
  client.end();
  const response = await asked.promise;
  client.destroy();
  await once(response, 'close');
  await streamWatch({
    response,
    machine: {},
    start: () => assert.fail('it was started'),
  } as unknown as WatchStreamOptions);
});
