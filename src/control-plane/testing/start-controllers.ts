// Test support: controllers on an API server (test-api.ts says which), each under the account that Kubernetes gives it.

import type { KubeObject, Resource } from '../../api/object.ts';
import { serviceAccountUser } from '../../apiserver/auth/users.ts';
import { createEventRecorder } from '../../runtime/events/create-event-recorder.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import type { Informers } from '../../runtime/informer/informer.ts';
import type { Discovery, KubeClient } from '../../runtime/kube/kube.ts';
import { type MemoryLog, memoryLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import type { Controller, DiscoveringPorts } from '../controller.ts';
import { type TestApi, type TestScope, testApi } from './test-api.ts';

export interface Started {
  server: TestApi;
  /** As an administrator: the test's own requests. */
  kube: KubeClient & Discovery;
  informers: Informers;
  log: MemoryLog;
  /** Resolves with the object once the condition holds; with undefined once it is gone, if that is awaited. */
  settled<T extends KubeObject>(
    resource: Resource<T>,
    key: string,
    wanted: (object: T | undefined) => boolean,
  ): Promise<T | undefined>;
  /** Stops the controllers abruptly, as a crash does, and starts new ones; `meanwhile` runs in between. */
  restart(meanwhile?: () => Promise<unknown>): Promise<void>;
}

export interface Row {
  account: string;
  create(ports: DiscoveringPorts): Controller;
}

export async function startControllers(
  t: TestScope,
  rows: readonly Row[],
  given: { server?: TestApi } = {},
): Promise<Started> {
  const server = given.server ?? (await testApi(t));
  const log = memoryLog();
  const common = { clock: realClock, random: seededRandom('controllers'), log };
  const kube = server.client(server.adminUser);
  const ending = new AbortController();
  const informers = createInformers({ ...common, kube });
  informers.start(ending.signal);

  const start = (): (() => Promise<void>) => {
    const stop = new AbortController();
    const runs = rows.map(({ account, create }) => {
      const own = server.client(serviceAccountUser('kube-system', account));
      const ownInformers = createInformers({ ...common, kube: own });
      const recorder = createEventRecorder({
        ...common,
        kube: own,
        component: account,
        signal: stop.signal,
      });
      const controller = create({
        ...common,
        kube: own,
        discovery: own,
        informers: ownInformers,
        recorder,
      });
      ownInformers.start(stop.signal);
      return controller.run(stop.signal);
    });
    return async () => {
      stop.abort(new Error('the test is over'));
      await Promise.all(runs);
    };
  };

  let stop = start();
  t.after(async () => {
    await stop();
    ending.abort();
  });
  return {
    server,
    kube,
    informers,
    log,
    settled: (resource, key, wanted) => informers.of(resource).waitFor(key, wanted),
    async restart(meanwhile) {
      await stop();
      await meanwhile?.();
      stop = start();
    },
  };
}
