// A request over a real connection, whose response a test writes itself.

import { once } from 'node:events';
import { type ClientRequest, createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The connection is closed when the test ends. */
export async function oneRequest(t: {
  after(end: () => void): void;
}): Promise<{ response: ServerResponse; client: ClientRequest }> {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = createServer((_message, response) => asked.resolve(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = request({ port: (server.address() as AddressInfo).port });
  client.on('error', () => {});
  t.after(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  client.end();
  return { response: await asked.promise, client };
}
