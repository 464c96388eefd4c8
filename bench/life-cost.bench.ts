// What each part asks of the API server, and is told by it, in the life of one volume, in four phases: made and mounted, expanded,
// snapshotted, deleted. Every part is a process of its own, behind a proxy that counts. With --volumes and --nodes the cluster is filled
// before: the counts must not grow with it. Lives overlap, so writes that are coalesced (Node status, events) vary by a few
// per cent; the others repeat.

import { boolFlag, intFlag } from '../src/runtime/flags/flag.ts';
import { defineBenchmark } from './harness.ts';
import { runLives } from './scale/run-lives.ts';
import { scaleWorld } from './scale/scale-world.ts';

export const benchmark = defineBenchmark({
  summary: 'Requests, writes and watch events of each part in the life of one volume',
  operation: 'life',
  flags: {
    lives: intFlag({ help: 'Lives a round', default: 100, min: 1 }),
    'in-flight': intFlag({ help: 'Lives at once: with one, nothing is coalesced', default: 10, min: 1 }),
    volumes: intFlag({ help: 'Further volumes in use', default: 0, min: 0 }),
    nodes: intFlag({ help: 'Further nodes', default: 0, min: 0 }),
    direct: boolFlag({ help: 'Without counting proxies: for processor time with TLS' }),
    official: boolFlag({ help: 'On kube-apiserver and etcd of BERTH_PEERS' }),
  },
  warmups: 0,
  repeats: 1,
  candidates: {
    'every part': async ({ flags, directory }) => {
      const world = await scaleWorld({ directory, ...flags });
      return { round: () => runLives(world, flags), stop: () => world.stop() };
    },
  },
});
