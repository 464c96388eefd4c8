// The control socket of a running proxy: HTTP on a unix socket that only its owner may use.

import { placeSocket } from '../csi/server/listening-socket.ts';
import type { ActiveFaults } from './active-faults.ts';
import { answerFaults, FAULTS_PATH } from './faults-path.ts';

/** Whoever can write there can disturb the driver. */
const MODE = 0o600;

/** The control socket of the proxy that listens at `path`. */
export const controlSocketOf = (path: string): string => `${path}.control`;

/** Resolves, once it listens, with a function that ends it. */
export async function serveFaults(faults: ActiveFaults, path: string): Promise<() => Promise<void>> {
  const { createServer } = process.getBuiltinModule('node:http');
  const server = createServer((request, response) => {
    const [asked, query = ''] = (request.url ?? '').split('?', 2);
    if (asked === FAULTS_PATH) {
      const { method = '' } = request;
      answerFaults(faults, { method, query: new URLSearchParams(query), response });
      return;
    }
    response.writeHead(404);
    response.end();
  });
  const removeSocket = await placeSocket({
    path,
    mode: MODE,
    bind: (at) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(at, resolve);
      }),
  }).catch((error: unknown) => {
    server.close();
    throw error;
  });
  return async () => {
    removeSocket();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
}
