// All controllers together, under virtual time, with crashes and with calls that fail before or after they take effect:
// a StatefulSet gets its pods and bound claims, and its namespace is deleted with everything in it.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  namespaces,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  statefulSets,
} from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { serviceAccountUser } from '../apiserver/auth/users.ts';
import { testServer } from '../apiserver/testing/test-server.ts';
import { createEventRecorder } from '../runtime/events/create-event-recorder.ts';
import { createInformers } from '../runtime/informer/create-informers.ts';
import type { Discovery, KubeClient } from '../runtime/kube/kube.ts';
import { isConflict, isNotFound, KubeError } from '../runtime/kube/kube-error.ts';
import { silentLog } from '../runtime/log/log.ts';
import { type SeededRandom, seededRandom } from '../runtime/random.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { controllers } from './index.ts';
import { claim, volume } from './testing/objects.ts';

const cleanUps: (() => unknown)[] = [];
after(async () => {
  for (const cleanUp of cleanUps) await cleanUp();
});
const template = await testServer({ after: (cleanUp: () => unknown) => cleanUps.push(cleanUp) } as never);
const image = template.image();

const LIMIT_MS = 3_600_000;
const FAULT = 0.15;

/** Every call can be aborted, and may fail before it is sent or after it took effect; the caller cannot tell which. */
function faulty(kube: KubeClient & Discovery, random: SeededRandom): KubeClient & Discovery {
  const lost = () => new KubeError({ reason: 'Unreachable', code: 0, message: 'the connection broke' });
  const wrap = <A extends unknown[], R>(call: (...given: A) => Promise<R>) => {
    return async (...given: A): Promise<R> => {
      const options = given.at(-1) as { signal?: AbortSignal } | undefined;
      assert.ok(options?.signal, 'a call that goes on after the end');
      if (random.next() < FAULT) throw lost();
      const answer = await call(...given);
      if (random.next() < FAULT) throw lost();
      return answer;
    };
  };
  return {
    ...kube,
    get: wrap(kube.get) as KubeClient['get'],
    create: wrap(kube.create) as KubeClient['create'],
    update: wrap(kube.update) as KubeClient['update'],
    patch: wrap(kube.patch) as KubeClient['patch'],
    delete: wrap(kube.delete) as KubeClient['delete'],
    deleteCollection: wrap(kube.deleteCollection) as KubeClient['deleteCollection'],
    servedResources: wrap(kube.servedResources),
  };
}

class World {
  readonly clock = new VirtualClock();
  readonly random: SeededRandom;
  readonly admin: KubeClient;
  readonly #server: Awaited<ReturnType<typeof testServer>>;
  readonly #informers: ReturnType<typeof createInformers>;
  readonly #ending = new AbortController();
  #stop: AbortController | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(server: Awaited<ReturnType<typeof testServer>>, clock: VirtualClock, seed: number) {
    this.#server = server;
    this.clock = clock;
    this.random = seededRandom(seed);
    this.admin = server.client(server.adminUser);
    this.#informers = createInformers({ clock, random: this.random, log: silentLog, kube: this.admin });
    this.#informers.of(pods).subscribe({
      added: (pod) => this.#node(pod),
      updated: (_before, pod) => this.#node(pod),
    });
    this.#informers.start(this.#ending.signal);
  }

  static async create(seed: number): Promise<World> {
    const clock = new VirtualClock();
    const server = await testServer({ after: () => {} }, { clock, image, pki: template.pki });
    return new World(server, clock, seed);
  }

  /** Starts new controllers; the earlier ones stop where they are. */
  async restart(): Promise<void> {
    this.#stop?.abort(new Error('crash'));
    await this.drive(this.#running);
    const stop = new AbortController();
    this.#stop = stop;
    const common = { clock: this.clock, random: this.random, log: silentLog };
    const runs = controllers.map(({ account, create }) => {
      const kube = faulty(this.#server.client(serviceAccountUser('kube-system', account)), this.random);
      const informers = createInformers({ ...common, kube });
      const recorder = createEventRecorder({ ...common, kube, component: account, signal: stop.signal });
      const run = create({ ...common, kube, discovery: kube, informers, recorder }).run(stop.signal);
      informers.start(stop.signal);
      return run;
    });
    this.#running = Promise.all(runs);
  }

  async drive<T>(promise: Promise<T>): Promise<T> {
    return (await this.clock.runUntil(promise, LIMIT_MS)) as T;
  }

  /** Waits for the condition, with a few crashes meanwhile. */
  async settled<T extends KubeObject>(
    resource: Resource<T>,
    key: string,
    wanted: (object: T | undefined) => boolean,
  ): Promise<T | undefined> {
    const settled = this.#informers.of(resource).waitFor(key, wanted);
    for (let crashes = 0; crashes < 3; crashes++) {
      await this.clock.advance(this.random.int(400));
      await this.restart();
    }
    return this.drive(settled);
  }

  async end(): Promise<void> {
    this.#stop?.abort();
    await this.drive(this.#running);
    this.#ending.abort();
    await this.drive(this.#server.stop());
  }

  /** Simulates a node: a pod is ready soon after it is created. */
  #node(pod: Pod): void {
    const { name, namespace = '', deletionTimestamp } = pod.metadata;
    if (deletionTimestamp || pod.status?.phase !== 'Pending') return;
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    this.admin
      .patch(pods, { name, namespace }, { status }, { type: 'merge', subresource: 'status' })
      .catch((error: unknown) => {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      });
  }
}

for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
  test(`create and delete converge through failures and crashes (seed ${seed})`, async () => {
    const world = await World.create(seed);
    const { admin } = world;
    try {
      await world.restart();
      await world.drive(admin.create(namespaces, { metadata: { name: 'n' } }));
      for (const name of ['v0', 'v1', 'v2']) await world.drive(admin.create(persistentVolumes, volume(name)));
      await world.drive(
        admin.create(statefulSets, {
          metadata: { name: 'web', namespace: 'n' },
          spec: {
            replicas: 3,
            serviceName: 'web',
            selector: { matchLabels: { app: 'web' } },
            template: {
              metadata: { labels: { app: 'web' } },
              spec: { containers: [{ name: 'c', image: 'i' }] },
            },
            volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim('x').spec }],
          },
        }),
      );
      await world.settled(statefulSets, 'n/web', (set) => set?.status?.readyReplicas === 3);
      const taken = new Set<string | undefined>();
      for (const ordinal of [0, 1, 2]) {
        const key = `n/data-web-${ordinal}`;
        const bound = await world.settled(
          persistentVolumeClaims,
          key,
          (object) => object?.status?.phase === 'Bound',
        );
        taken.add(bound?.spec.volumeName);
      }
      assert.deepEqual([...taken].sort(), ['v0', 'v1', 'v2']);
      await world.drive(admin.delete(namespaces, { name: 'n' }));
      await world.settled(namespaces, 'n', (object) => object === undefined);
      for (const name of ['v0', 'v1', 'v2']) {
        await world.settled(persistentVolumes, name, (object) => object?.status?.phase === 'Released');
      }
      assert.equal((await world.drive(admin.list(pods))).items.length, 0);
      assert.equal((await world.drive(admin.list(persistentVolumeClaims))).items.length, 0);
    } finally {
      await world.end();
    }
  });
}
