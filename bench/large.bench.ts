// A cluster with many volumes, each bound and attached, and many nodes: what the sidecars cost at their start and at rest, one by one and in
// one process, and what a start and a list of the API server cost. The sidecars run on kube-apiserver and etcd if BERTH_PEERS has
// them, else on Berth's API server, as a process of its own. Official ones are measured where BERTH_PEERS has them. Filling the
// servers takes minutes; one warm-up fills Node's compile cache. `CPU s` is until at rest, the start of the process included.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { missingPeers, peerPath } from '../test/capabilities.ts';
import { type Candidate, defineBenchmark, needPeers } from './harness.ts';
import { type PartFigures, PartMeasurement } from './large-parts.ts';
import { seed, ZONE } from './large-seed.ts';
import {
  clientOf,
  type LargeServer,
  type StartLargeServer,
  serverFigures,
  startBerthServer,
  startOfficialServer,
} from './large-server.ts';
import { startDriver } from './provisioner-parts.ts';
import { type Sidecar, sidecarWork } from './sidecar-work.ts';

const DRIVER = 'large.bench';
const PARTS: readonly Sidecar[] = ['provisioner', 'resizer', 'attacher', 'snapshotter'];
const UNLIMITED = ['--kube-api-qps=10000', '--kube-api-burst=10000'];

interface Size {
  readonly volumes: number;
  readonly nodes: number;
}

interface World {
  readonly parts: PartMeasurement;
  /** Of both API servers that were filled, by candidate. */
  readonly servers: Readonly<Record<string, Record<string, number>>>;
  users: number;
  stop(): Promise<void>;
}

/** Both candidates work in it: two cores cannot run more. */
let shared: Promise<World> | undefined;

async function filled(
  start: StartLargeServer,
  { directory, server, size }: { directory: string; server: string; size: Size },
): Promise<{ server: LargeServer; figures: Record<string, number> }> {
  await mkdir(directory, { recursive: true });
  const first = await start(directory);
  const kube = await clientOf(first.kubeconfig);
  await seed({ kube, driver: DRIVER, server, ...size });
  await kube.close();
  await first.stop();
  const second = await start(directory);
  return { server: second, figures: await serverFigures(second) };
}

async function createWorld(directory: string, size: Size): Promise<World> {
  const berth = await filled(startBerthServer, { directory: join(directory, 'b'), server: 'berth', size });
  const servers: Record<string, Record<string, number>> = { berth: berth.figures };
  let { server } = berth;
  if (missingPeers('etcd', 'kube-apiserver') === false) {
    await server.stop();
    const where = { directory: join(directory, 'k'), server: 'kube-apiserver', size };
    const official = await filled(startOfficialServer, where);
    servers.official = official.figures;
    server = official.server;
  }
  process.stdout.write(
    `the sidecars run on ${servers.official ? 'kube-apiserver' : "Berth's API server"}, with ${size.volumes} volumes and ${size.nodes} nodes\n`,
  );
  const kube = await clientOf(server.kubeconfig);
  // It does not list where volumes are published: it knows nothing of those that are here.
  const driver = await startDriver(directory, {
    name: DRIVER,
    topology: `${ZONE}=z0`,
    without: ['published-nodes'],
  });
  const { socket } = driver;
  const work = await sidecarWork({ kube, driver: DRIVER, socket, root: directory });
  return {
    parts: new PartMeasurement(work, { socket, kubeconfig: server.kubeconfig, directory }),
    servers,
    users: 0,
    async stop() {
      await work.close();
      await driver.stop();
      await kube.close();
      await server.stop();
    },
  };
}

async function inWorld(
  name: string,
  { directory, size }: { directory: string; size: Size },
  round: (parts: PartMeasurement) => Promise<Record<string, number>>,
): Promise<Candidate> {
  shared ??= createWorld(directory, size);
  const world = await shared;
  world.users++;
  return {
    async round() {
      const figures = await round(world.parts);
      return { operations: 1, figures: { ...world.servers[name], ...figures } };
    },
    async stop() {
      if (--world.users === 0) await world.stop();
    },
  };
}

function named(part: string, { cpuMs, syncedMs, restMegabytes, peakMegabytes }: PartFigures) {
  return {
    [`${part}: CPU s`]: cpuMs / 1000,
    [`${part}: MB at rest`]: restMegabytes,
    [`${part}: peak MB`]: peakMegabytes,
    [`${part}: s until synced`]: syncedMs / 1000,
  };
}

async function berthRound(parts: PartMeasurement): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  const programs = [
    ...PARTS.map((part) => ({ part, argv: parts.berth(part), sidecars: [part] })),
    { part: 'all', argv: parts.berth('sidecars', `--controllers=${PARTS.join(',')}`), sidecars: PARTS },
  ];
  for (const { part, ...program } of programs) {
    const pauseMs = await parts.longestPauseMs(program);
    Object.assign(figures, named(part, await parts.figures(program)), {
      [`${part}: longest pause, CPU ms`]: pauseMs,
    });
  }
  return figures;
}

/** All of them are four processes: the sums. */
async function officialRound(parts: PartMeasurement): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  const measured: PartFigures[] = [];
  for (const part of PARTS) {
    const program = peerPath(`csi-${part}`);
    if (program === undefined) continue;
    const each = await parts.figures({ argv: [program, ...UNLIMITED], sidecars: [part] });
    measured.push(each);
    Object.assign(figures, named(part, each));
  }
  if (measured.length < PARTS.length) return figures;
  const sum = (of: (each: PartFigures) => number): number =>
    measured.reduce((total, each) => total + of(each), 0);
  return Object.assign(figures, {
    'all: CPU s': sum(({ cpuMs }) => cpuMs) / 1000,
    'all: MB at rest': sum(({ restMegabytes }) => restMegabytes),
    'all: peak MB': sum(({ peakMegabytes }) => peakMegabytes),
  });
}

export const benchmark = defineBenchmark({
  summary: 'The sidecars and the API server with many volumes and nodes',
  operation: 'round',
  flags: {
    volumes: intFlag({ help: 'Volumes, each bound to a claim and attached', default: 30_000, min: 1 }),
    nodes: intFlag({ help: 'Nodes', default: 5_000, min: 1 }),
  },
  baseline: 'official',
  candidates: {
    berth: ({ flags, directory }) => inWorld('berth', { directory, size: flags }, berthRound),
    official: ({ flags, directory }) => {
      if (PARTS.every((part) => peerPath(`csi-${part}`) === undefined))
        needPeers(...PARTS.map((part) => `csi-${part}`));
      return inWorld('official', { directory, size: flags }, officialRound);
    },
  },
  warmups: 1,
  repeats: 3,
});
