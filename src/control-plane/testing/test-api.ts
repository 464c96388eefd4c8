// Test support: the API server that the control plane's tests run on. By default the embedded one, new for each test.
// If BERTH_COMPONENT_SERVER names a kubeconfig, the server behind it, emptied before each test: use only a server that
// was started for these tests. If BERTH_COMPONENT_STATES names a directory, the final state of each test is written
// there, so that the two can be compared.

import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { User } from '../../apiserver/pipeline.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import type { Discovery, KubeClient } from '../../runtime/kube/kube.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { PacedClock } from './paced-clock.ts';
import { connectRealServer, readState } from './real-server.ts';
import { Traffic } from './traffic.ts';

export interface TestApi {
  /** The Kubernetes port as this user. */
  client(user: User): KubeClient & Discovery;
  readonly adminUser: User;
}

export type TestScope = Pick<TestContext, 'after'> & Partial<Pick<TestContext, 'fullName'>>;

/** Why a test of something specific to the embedded server is skipped on another: a value for `skip`. */
export const onlyEmbedded = (why: string): string | false =>
  process.env.BERTH_COMPONENT_SERVER === undefined ? false : why;

/** The final state is read when it no longer changes, or after a limit. */
const REST_MS = 200;
const RESTS = 20;

/** In real time. */
export async function testApi(t: TestScope): Promise<TestApi> {
  const made = Promise.withResolvers<TestApi>();
  // First of all: afterwards controllers and server stop.
  recordAtEnd(t, async () => {
    const { client, adminUser } = await made.promise;
    const read = () => readState(client(adminUser));
    let last = JSON.stringify(await read());
    for (let rest = 0; rest < RESTS; rest++) {
      await setTimeout(REST_MS);
      const next = JSON.stringify(await read());
      if (next === last) break;
      last = next;
    }
    return last;
  });
  const kubeconfig = process.env.BERTH_COMPONENT_SERVER;
  const api = kubeconfig === undefined ? await testServer(t) : await connectRealServer(kubeconfig);
  made.resolve(api);
  return api;
}

/** In virtual time, which on a real server waits for traffic to be quiescent. */
export async function virtualTestApi(t: TestScope): Promise<{ api: TestApi; clock: VirtualClock }> {
  const kubeconfig = process.env.BERTH_COMPONENT_SERVER;
  const traffic = new Traffic();
  const clock = kubeconfig === undefined ? new VirtualClock() : new PacedClock(traffic);
  const made = Promise.withResolvers<TestApi>();
  recordAtEnd(t, async () => {
    const { client, adminUser } = await made.promise;
    await clock.settle();
    return JSON.stringify(await clock.runUntil(readState(client(adminUser)), 60_000));
  });
  const api =
    kubeconfig === undefined
      ? await testServer(t, { clock })
      : await connectRealServer(kubeconfig, (kube) => traffic.through(kube));
  made.resolve(api);
  return { api, clock };
}

function recordAtEnd(t: TestScope, read: () => Promise<string>): void {
  const directory = process.env.BERTH_COMPONENT_STATES;
  if (directory === undefined) return;
  t.after(async () => {
    const title = t.fullName ?? '';
    const name = createHash('sha256').update(title).digest('hex').slice(0, 16);
    const state = `{"title":${JSON.stringify(title)},"objects":${await read()}}`;
    await writeFile(join(directory, `${name}.json`), state);
  });
}
