// Lives of volumes with every part running, in phases: made and mounted, expanded, snapshotted, deleted. After each phase the requests and
// watch events of each part are read off its proxy.

import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { CLASS } from '../../test/scale/fill-cluster.ts';
import type { Round } from '../harness.ts';
import { processUsage, resetPeakMemory } from '../process-usage.ts';
import { sum } from './counting-proxy.ts';
import { LIVE_NODE, type Part, type PartName, type ScaleWorld } from './scale-world.ts';

const RUNNING: readonly PartName[] = [
  'controller-manager',
  'scheduler',
  'provisioner',
  'attacher',
  'resizer',
  'snapshotter',
  'snapshot-controller',
  'node',
];
const QUIET_MS = 2_500;
const namespace = 'default';
let round = 0;

export async function runLives(
  world: ScaleWorld,
  { lives, inFlight }: { lives: number; inFlight: number },
): Promise<Round> {
  const { kube } = world;
  const parts = new Map<PartName, Part>();
  for (const name of RUNNING) parts.set(name, await world.start(name));
  const registrar = world.startRegistrar();
  const stop = new AbortController();
  const ports = { clock: realClock, random: realRandom, log: silentLog, kube };
  const informers = createInformers(ports);
  const cached = {
    pods: informers.of(pods, { namespace }),
    claims: informers.of(persistentVolumeClaims, { namespace }),
    volumes: informers.of(persistentVolumes),
    snapshots: informers.of(volumeSnapshots, { namespace }),
    contents: informers.of(volumeSnapshotContents),
  };
  informers.start(stop.signal);
  await informers.synced();
  const names = Array.from({ length: lives }, (_, index) => `life-${round}-${index}`);
  round++;
  const figures: Record<string, number> = {};
  const all = async (each: (name: string) => Promise<unknown>): Promise<void> => {
    const left = [...names];
    const work = async (): Promise<void> => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) await each(name);
    };
    await Promise.all(Array.from({ length: inFlight }, work));
  };
  const readyClaim = (name: string, size: string): Promise<PersistentVolumeClaim | undefined> =>
    cached.claims.waitFor(`${namespace}/${name}`, (claim) => claim?.status?.capacity?.storage === size);
  const make = async (name: string): Promise<void> => {
    await kube.create(persistentVolumeClaims, claimOf(name));
    await kube.create(pods, podOf(name));
    await cached.pods.waitFor(`${namespace}/${name}`, (pod) => pod?.status?.phase === 'Running');
  };
  const remove = async (name: string): Promise<void> => {
    const key = `${namespace}/${name}`;
    const claim = await cached.claims.waitFor(key, (each) => each !== undefined);
    await kube.delete(pods, { name, namespace });
    await kube.delete(persistentVolumeClaims, { name, namespace });
    await cached.volumes.waitFor(`pvc-${claim?.metadata.uid}`, (volume) => volume === undefined);
  };
  const phases: Record<string, (name: string) => Promise<unknown>> = {
    made: make,
    async expanded(name) {
      const grown = { spec: { resources: { requests: { storage: '2Gi' } } } };
      await kube.patch(persistentVolumeClaims, { name, namespace }, grown, { type: 'merge' });
      await readyClaim(name, '2Gi');
    },
    async snapshotted(name) {
      const key = `${namespace}/${name}`;
      await kube.create(volumeSnapshots, {
        metadata: { name, namespace },
        spec: { volumeSnapshotClassName: CLASS, source: { persistentVolumeClaimName: name } },
      });
      const ready = await cached.snapshots.waitFor(key, (each) => each?.status?.readyToUse === true);
      await kube.delete(volumeSnapshots, { name, namespace });
      const content = ready?.status?.boundVolumeSnapshotContentName ?? '';
      await cached.contents.waitFor(content, (each) => each === undefined);
    },
    deleted: remove,
  };
  try {
    // One life before the count: the driver registers, and what a first life needs is read.
    await make('first');
    await remove('first');
    await quiet(parts);
    for (const { proxy } of parts.values()) proxy?.take();
    for (const [phase, each] of Object.entries(phases)) {
      const before = cpuOf(parts);
      const servedMs = serverCpuMs(world);
      for (const { pid } of parts.values()) resetPeakMemory(pid);
      await all(each);
      await quiet(parts);
      Object.assign(figures, takeFigures(parts, phase, lives));
      for (const [name, cpuMs] of cpuOf(parts))
        figures[`${phase} ${name} CPU ms`] = (cpuMs - (before.get(name) ?? 0)) / lives;
      for (const [name, { pid }] of parts)
        figures[`${phase} ${name} peak MB`] = (processUsage(pid)?.peakMemoryBytes ?? Number.NaN) / 1e6;
      figures[`${phase} server CPU ms`] = (serverCpuMs(world) - servedMs) / lives;
    }
  } finally {
    stop.abort();
    for (const part of parts.values()) await part.stop();
    await registrar.stop();
  }
  return { operations: lives, figures };
}

const claimOf = (name: string) => ({
  metadata: { name, namespace },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: CLASS,
    resources: { requests: { storage: '1Gi' } },
  },
});

const podOf = (name: string) => ({
  metadata: { name, namespace },
  spec: {
    terminationGracePeriodSeconds: 0,
    nodeSelector: { 'kubernetes.io/hostname': LIVE_NODE },
    containers: [{ name: 'main', image: 'none' }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
  },
});

/** Of kube-apiserver without etcd. */
const serverCpuMs = ({ serverPid }: ScaleWorld): number => processUsage(serverPid)?.cpuMs ?? Number.NaN;

const cpuOf = (parts: ReadonlyMap<PartName, Part>): Map<PartName, number> =>
  new Map([...parts].map(([name, { pid }]) => [name, processUsage(pid)?.cpuMs ?? Number.NaN]));

/** Leases of elections and nodes have nothing to do with lives; the provisioner's is its ledger of intents. */
const counts = (key: string, part: PartName): boolean =>
  !/ other$/.test(key) && (part === 'provisioner' || !/ leases$/.test(key));
const isEvent = (key: string): boolean => key.endsWith(' events');
const isRead = (key: string): boolean => /^(?:get|list) /.test(key);
const isWrite = (key: string): boolean => /^(?:create|update|patch|delete) /.test(key) && !isEvent(key);

function takeFigures(
  parts: ReadonlyMap<PartName, Part>,
  phase: string,
  lives: number,
): Record<string, number> {
  const figures: Record<string, number> = {};
  for (const [name, { proxy }] of parts) {
    const taken = proxy?.take();
    if (taken === undefined) continue;
    const requests = new Map([...taken.requests].filter(([key]) => counts(key, name)));
    const events = (kind: string): boolean => kind !== 'leases';
    const set = (what: string, value: number): void => {
      if (value > 0) figures[`${phase} ${name} ${what}`] = value / lives;
    };
    set('writes', sum(requests, isWrite));
    set('event writes', sum(requests, isEvent));
    set('reads', sum(requests, isRead));
    set('watch events', sum(taken.watchEvents, events));
    set('watch bytes', sum(taken.watchBytes, events));
    // A Node lists its volumes: what it weighs depends on how many those are.
    set('watch events of nodes', taken.watchEvents.get('nodes') ?? 0);
    set('watch bytes of nodes', taken.watchBytes.get('nodes') ?? 0);
    if (process.env.BENCH_OUTPUT) process.stderr.write(`${phase} ${name} ${JSON.stringify([...requests])}\n`);
  }
  return figures;
}

/** Resolves when no part has used its processor for a while. */
async function quiet(parts: ReadonlyMap<PartName, Part>): Promise<void> {
  for (;;) {
    const before = cpuOf(parts);
    await realClock.sleep(QUIET_MS);
    const after = cpuOf(parts);
    const busiest = Math.max(...[...after].map(([name, cpuMs]) => cpuMs - (before.get(name) ?? 0)));
    if (busiest <= 40) return;
  }
}
