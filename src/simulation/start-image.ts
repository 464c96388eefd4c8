// What every simulated cluster starts from: an API server that holds what every cluster has, made once a process and
// always the same.

import { type ApiServer, createApiServer } from '../apiserver/api-server.ts';
import { silentLog } from '../runtime/log.ts';
import { seededRandom } from '../runtime/random.ts';
import { VirtualClock } from '../runtime/virtual-clock.ts';

export interface StartImage {
  readonly image: ReturnType<ApiServer['image']>;
  readonly pki: ApiServer['pki'];
}

export async function makeStartImage(): Promise<StartImage> {
  const server = await createApiServer({
    clock: new VirtualClock(),
    random: seededRandom('start'),
    log: silentLog,
    listen: false,
    tracksFields: false,
  });
  const start = { image: server.image(), pki: server.pki };
  await server.stop();
  return start;
}
