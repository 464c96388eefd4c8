// An API server for tests: in memory, frozen objects, virtual or real time, and helpers for requests.

import type { TestContext } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { seededRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { type ApiServer, type ApiServerOptions, createApiServer } from '../api-server.ts';

export const quietLog: Log = {
  info() {},
  warn() {},
  error(message, error) {
    console.error(message, error);
  },
  v: () => ({ enabled: false, info() {} }),
  with: () => quietLog,
};

/** Stopped when the test ends. */
export async function testServer(
  t: Pick<TestContext, 'after'>,
  options: Partial<ApiServerOptions> & { clock?: Clock } = {},
): Promise<ApiServer> {
  const server = await createApiServer({
    clock: realClock,
    random: seededRandom('test'),
    log: quietLog,
    listen: false,
    freezeObjects: true,
    ...options,
  });
  t.after(() => server.stop());
  return server;
}

/** A draft of any kind, loosely typed. */
export function draft<T extends KubeObject>(object: object): T {
  return object as T;
}
