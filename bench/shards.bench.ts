// Replicas that share, beside a driver that takes 200 ms for each call: claims a second of one replica (with a leader
// election) and of three (--sharding), with default flags; and what happens when one of three is killed with -9 under load:
// how long until its share is served again, and how long the others' claims take meanwhile. The API server and the binder
// run in this process, driver and replicas in theirs. The same for the attachments of attachers. With the provisioner's 100 worker
// threads two cores are the limit; with `--workers 10` the driver is.
import { join } from 'node:path';
import { leases, type PersistentVolumeClaim, persistentVolumeClaims } from '../src/api/kinds.ts';
import { type ApiServer, createApiServer } from '../src/apiserver/api-server.ts';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { memberRecordOf } from '../src/runtime/sharding/member-record.ts';
import { ownerOf } from '../src/runtime/sharding/rendezvous.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { startAttachments } from './attachments.ts';
import { type Candidate, defineBenchmark } from './harness.ts';
import { INSTANT_DRIVER, startInstantDriver } from './instant-driver.ts';
import { type Running, startBerth, startClaims } from './provisioner-parts.ts';

const flags = {
  claims: intFlag({ help: 'Claims, or attachments, a round', default: 600, min: 1 }),
  'call-ms': intFlag({ help: 'How long the driver takes for a call', default: 200, min: 0 }),
  workers: intFlag({ help: '--worker-threads of each replica; its default unless given', min: 1 }),
  'claims-a-second': intFlag({ help: 'Load while a replica is killed', default: 40, min: 1 }),
};
const ports = { clock: realClock, random: realRandom, log: silentLog };

type ShardedSidecar = 'provisioner' | 'attacher';

interface ShardWorld {
  server: ApiServer;
  claims: Awaited<ReturnType<typeof startClaims>>;
  driverPid: number;
  replica(): Running;
  /** The members of the group, as they divide now. */
  members(): Promise<string[]>;
  divided(count: number): Promise<string[]>;
  stop(replicas: readonly Running[]): Promise<void>;
}

async function shardWorld(
  directory: string,
  {
    callMs,
    workers,
    sharding,
    sidecar = 'provisioner',
  }: { callMs: number; workers: number | undefined; sharding: boolean; sidecar?: ShardedSidecar },
): Promise<ShardWorld> {
  const kubeconfig = join(directory, 'kubeconfig');
  const server = await createApiServer({
    ...ports,
    kubeconfigPath: kubeconfig,
    dataDir: join(directory, 'data'),
  });
  const driver = await startInstantDriver(join(directory, 'd'), { delayMs: callMs });
  const admin = server.client(server.adminUser);
  const claims = await startClaims(admin);
  await claims.makeClass('bench', driver.name);
  const members = async (): Promise<string[]> => {
    const { items } = await admin.list(leases, { namespace: 'default' });
    const records = items.map(memberRecordOf).filter((each) => each !== undefined && !each.left);
    const lists = records.map((each) => each?.members.join() ?? '');
    return lists.length > 0 && lists.every((each) => each === lists[0])
      ? [...(records[0]?.members ?? [])]
      : [];
  };
  return {
    server,
    claims,
    driverPid: driver.pid,
    members,
    async divided(count) {
      for (;;) {
        const now = await members();
        if (now.length === count) return now;
        await realClock.sleep(50);
      }
    },
    replica: () =>
      startBerth([
        sidecar,
        `--csi-address=${driver.socket}`,
        `--kubeconfig=${kubeconfig}`,
        sharding ? '--sharding' : '--leader-election',
        ...(workers === undefined ? [] : [`--worker-threads=${workers}`]),
      ]),
    async stop(replicas) {
      for (const replica of replicas) await replica.stop();
      await claims.stop();
      await driver.stop();
      await server.stop();
    },
  };
}

type Flags = { claims: number; callMs: number; workers: number | undefined; claimsASecond: number };

async function throughput(
  directory: string,
  given: Flags,
  { sidecar, count }: { sidecar: ShardedSidecar; count: number },
): Promise<Candidate> {
  const sharding = count > 1;
  const world = await shardWorld(directory, { ...given, sharding, sidecar });
  const attachments = await startAttachments(world.server.client(world.server.adminUser), INSTANT_DRIVER);
  const replicas = Array.from({ length: count }, () => world.replica());
  if (sharding) await world.divided(count);
  let round = 0;
  return {
    processes: Object.fromEntries([
      ['driver', world.driverPid],
      ...replicas.map(({ pid }, index) => [`replica ${index + 1}`, pid]),
    ]),
    async round() {
      const prefix = `round-${round++}`;
      const elapsedMs =
        sidecar === 'attacher'
          ? await attachments.attach(given.claims, prefix)
          : await world.claims.bind(given.claims, prefix, 'bench');
      const figure = sidecar === 'attacher' ? 'attached/s' : 'bound/s';
      return { operations: given.claims, figures: { [figure]: (given.claims / elapsedMs) * 1000 } };
    },
    async stop() {
      attachments.stop();
      await world.stop(replicas);
    },
  };
}

/** One of three is killed in the middle of each round, and replaced after it. */
async function killed(directory: string, given: Flags): Promise<Candidate> {
  const world = await shardWorld(directory, { ...given, sharding: true });
  const admin = world.server.client(world.server.adminUser);
  const replicas = Array.from({ length: 3 }, () => world.replica());
  let round = 0;
  return {
    async round() {
      const before = await world.divided(3);
      const made = new Map<string, { uid: string; atMs: number }>();
      const boundAtMs = new Map<string, number>();
      const watching = new AbortController();
      const follow = async (): Promise<void> => {
        const events = admin.watch(persistentVolumeClaims, {
          sendInitialEvents: true,
          signal: watching.signal,
        });
        for await (const event of events) {
          if (event.type === 'BOOKMARK') continue;
          const { metadata, status } = event.object as PersistentVolumeClaim;
          if (status?.phase === 'Bound' && !boundAtMs.has(metadata.uid)) {
            boundAtMs.set(metadata.uid, performance.now());
          }
        }
      };
      const following = follow().catch(() => {});
      const total = given.claimsASecond * 6;
      let killedAtMs = 0;
      for (let i = 0; i < total; i++) {
        if (i === Math.floor(total / 3)) {
          killedAtMs = performance.now();
          process.kill((replicas.shift() as Running).pid, 'SIGKILL');
        }
        const atMs = performance.now();
        const { metadata } = await admin.create(persistentVolumeClaims, {
          metadata: { name: `kill-${round}-${i}`, namespace: 'default' },
          spec: {
            accessModes: ['ReadWriteOnce'],
            storageClassName: 'bench',
            resources: { requests: { storage: '1Mi' } },
          },
        });
        made.set(metadata.name, { uid: metadata.uid, atMs });
        await realClock.sleep(1000 / given.claimsASecond);
      }
      round++;
      const after = await world.divided(2);
      const isOpen = (): boolean => [...made.values()].some(({ uid }) => !boundAtMs.has(uid));
      while (isOpen()) await realClock.sleep(20);
      watching.abort();
      await following;
      const dead = before.find((id) => !after.includes(id)) ?? '';
      const later = [...made.values()].filter(({ atMs }) => atMs >= killedAtMs);
      const isDeads = ({ uid }: { uid: string }): boolean => ownerOf(uid, before) === dead;
      const bound = ({ uid }: { uid: string }): number => boundAtMs.get(uid) as number;
      const figures = {
        'ms until its share is served again': Math.min(...later.filter(isDeads).map(bound)) - killedAtMs,
        'longest wait of its claims, ms': Math.max(
          ...later.filter(isDeads).map((each) => bound(each) - each.atMs),
        ),
        'longest wait of the others, ms': Math.max(
          ...later.filter((each) => !isDeads(each)).map((each) => bound(each) - each.atMs),
        ),
      };
      replicas.push(world.replica());
      return { operations: total, figures };
    },
    stop: () => world.stop(replicas),
  };
}

export const benchmark = defineBenchmark({
  summary:
    'Claims and attachments a second of one replica and of three that share, and a replica that is killed',
  operation: 'claim',
  flags,
  candidates: {
    'one replica': ({ flags: given, directory }) =>
      throughput(directory, given, { sidecar: 'provisioner', count: 1 }),
    'three replicas': ({ flags: given, directory }) =>
      throughput(directory, given, { sidecar: 'provisioner', count: 3 }),
    'one attacher': ({ flags: given, directory }) =>
      throughput(directory, given, { sidecar: 'attacher', count: 1 }),
    'three attachers': ({ flags: given, directory }) =>
      throughput(directory, given, { sidecar: 'attacher', count: 3 }),
    'one of three killed': ({ flags: given, directory }) => killed(directory, given),
  },
  warmups: 1,
  repeats: 3,
});
