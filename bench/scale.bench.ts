// What each part costs at rest in a cluster with many volumes: memory and processor time until it has read everything, and what it read.
// `--volumes 0 --nodes 0` is the base; the slope between two sizes is the cost of an object. docs/scale.md has the figures and what
// follows from them, src/plan/costs.ts the constants. The API server is a process of its own: Berth's, or with --official those of
// BERTH_PEERS. Bytes and events are counted and repeat exactly; memory varies by some megabytes, processor time by a quarter.

import type { FlagTable } from '../src/runtime/flags/flag.ts';
import { boolFlag, intFlag } from '../src/runtime/flags/flag.ts';
import { type Candidate, defineBenchmark, type StartCandidate } from './harness.ts';
import { processUsage } from './process-usage.ts';
import { sum } from './scale/counting-proxy.ts';
import { atRest, PART_NAMES, type PartName, type ScaleWorld, scaleWorld } from './scale/scale-world.ts';

const flags = {
  volumes: intFlag({ help: 'Volumes in use', default: 1_000, min: 0 }),
  nodes: intFlag({ help: 'Nodes', default: 50, min: 0 }),
  direct: boolFlag({ help: 'Without counting proxies: for processor time with TLS' }),
  official: boolFlag({ help: 'On kube-apiserver and etcd of BERTH_PEERS' }),
};
type Given = { volumes: number; nodes: number; direct: boolean; official: boolean };

/** What volumes and nodes are made of. Other kinds are small. */
const KINDS = [
  'persistentvolumeclaims',
  'persistentvolumes',
  'volumeattachments',
  'pods',
  'nodes',
  'csinodes',
];

let shared: { world: Promise<ScaleWorld>; users: number } | undefined;

/** One filled server for all candidates: filling it takes longest. */
async function resting(name: PartName, directory: string, given: Given): Promise<Candidate> {
  shared ??= { world: scaleWorld({ directory, ...given }), users: 0 };
  const mine = shared;
  mine.users++;
  const world = await mine.world;
  return {
    async round() {
      const part = await world.start(name);
      try {
        await atRest(part, world);
        const usage = processUsage(part.pid);
        const counts = part.proxy?.take();
        process.stderr.write(`${name}: ${JSON.stringify(usage)}\n`);
        return {
          operations: 1,
          figures: {
            'MB at rest': (usage?.memoryBytes ?? Number.NaN) / 1e6,
            'MB at its peak': (usage?.peakMemoryBytes ?? Number.NaN) / 1e6,
            'CPU s until at rest': (usage?.cpuMs ?? Number.NaN) / 1000,
            'server MB': (processUsage(world.serverPid)?.memoryBytes ?? Number.NaN) / 1e6,
            ...(counts && {
              'MB read': (sum(counts.watchBytes) + counts.answerBytes) / 1e6,
              requests: sum(counts.requests),
              ...Object.fromEntries(
                KINDS.map((kind) => [`bytes of ${kind}`, counts.watchBytes.get(kind) ?? 0]),
              ),
            }),
          },
        };
      } finally {
        await part.stop();
      }
    },
    async stop() {
      if (--mine.users === 0) await world.stop();
    },
  };
}

export const benchmark = defineBenchmark({
  summary: 'Memory and processor time of each part at rest in a cluster of a given size, and what it reads',
  operation: 'start',
  flags,
  warmups: 0,
  repeats: 1,
  candidates: Object.fromEntries(
    PART_NAMES.map((name): [string, StartCandidate<typeof flags>] => [
      name,
      ({ flags: given, directory }) => resting(name, directory, given),
    ]),
  ) as Record<string, StartCandidate<FlagTable>>,
});
