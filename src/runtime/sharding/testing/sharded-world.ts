// Test support: replicas of a group under virtual time, on the embedded API server, and who of them owns what.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createApiServer } from '../../../apiserver/api-server.ts';
import type { KubeClient } from '../../kube/kube.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { memoryLog, silentLog } from '../../log/log.ts';
import { seededRandom } from '../../random.ts';
import { VirtualClock } from '../../time/virtual-clock.ts';
import type { Prepare } from '../gains.ts';
import type { Membership } from '../membership.ts';
import { type RunShardedOptions, runSharded } from '../run-sharded.ts';

export const DURATION_MS = 1_500;
export const GROUP = 'external-attacher-leader-d';
export const KEYS = Array.from({ length: 40 }, (_, index) => `key-${index}`);

export async function shardedWorld(t: TestContext) {
  const clock = new VirtualClock();
  const server = await createApiServer({ clock, random: seededRandom(1), log: silentLog, listen: false });
  t.after(() => server.stop());
  const admin = server.client(server.adminUser);
  const kube = withLatency(admin, clock);
  const log = memoryLog();
  const replica = (
    id: string,
    { prepare, ...options }: Partial<RunShardedOptions> & { prepare?: Prepare } = {},
  ) => {
    const stop = new AbortController();
    const self = {
      id,
      stop,
      membership: undefined as Membership | undefined,
      starts: 0,
      ended: Promise.resolve() as Promise<unknown>,
    };
    self.ended = runSharded(
      {
        kube,
        clock,
        random: seededRandom(id),
        log,
        namespace: 'default',
        name: GROUP,
        identity: id,
        ...options,
      },
      async (membership, signal) => {
        self.membership = membership;
        self.starts += 1;
        if (prepare) membership.beforeGain(prepare);
        membership.start();
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => resolve(), { once: true }),
        );
      },
      stop.signal,
    ).catch((error: unknown) => error);
    return self;
  };
  type Replica = ReturnType<typeof replica>;
  return {
    clock,
    admin,
    kube,
    log,
    replica,
    /** The owner of each key; fails when there are two. */
    owners(replicas: readonly Replica[]): (string | undefined)[] {
      return KEYS.map((key) => {
        const [first, ...others] = replicas.filter(({ membership }) => membership?.owns(key));
        assert.equal(others.length, 0, `${key} is owned by ${first?.id} and ${others[0]?.id}`);
        return first?.id;
      });
    },
    memberLease: (id: string) => ({ namespace: 'default', name: `${GROUP}.${id}` }),
  };
}

export type ShardedWorld = Awaited<ReturnType<typeof shardedWorld>>;
export type LeaseName = ReturnType<ShardedWorld['memberLease']>;

/** Under virtual time something must happen for time to pass. */
function withLatency(inner: KubeClient, clock: VirtualClock): KubeClient {
  const later =
    (call: (...given: never[]) => Promise<unknown>) =>
    async (...given: never[]) => {
      await clock.sleep(2);
      return call(...given);
    };
  const { get, list, create, update, patch, delete: remove } = inner;
  const delayed = { get, list, create, update, patch, delete: remove } as never as Record<string, never>;
  for (const [name, call] of Object.entries(delayed)) delayed[name] = later(call) as never;
  return { ...inner, ...delayed } as KubeClient;
}

/** A client whose watches can fall silent, and whose updates can fail. */
export function withSwitch(inner: KubeClient) {
  const self = { kube: inner, isSilent: false, isCut: false };
  self.kube = {
    ...inner,
    async *watch(...given: Parameters<KubeClient['watch']>) {
      for await (const event of inner.watch(...given)) if (!self.isSilent) yield event;
    },
    async update(...given: Parameters<KubeClient['update']>) {
      if (self.isCut) throw new KubeError({ reason: 'Unreachable', code: 0, message: 'cut' });
      return inner.update(...given);
    },
  } as KubeClient;
  return self;
}

export const isWhole = (owners: readonly (string | undefined)[]): boolean => !owners.includes(undefined);
