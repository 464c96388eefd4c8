// The cost of one object change for watchers in the server's process: each is an informer, a handler and a loop whose
// run has nothing to do, as for most changes and components.
import { setImmediate } from 'node:timers/promises';
import { persistentVolumes } from '../src/api/kinds.ts';
import { createApiServer } from '../src/apiserver/index.ts';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { createInformers } from '../src/runtime/informer/create-informers.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { createLoop } from '../src/runtime/queue/create-loop.ts';
import { done } from '../src/runtime/queue/loop.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { defineBenchmark } from './harness.ts';

const VOLUMES = 50;
const ports = { clock: realClock, random: realRandom, log: silentLog };

async function candidate(followers: number, changes: number) {
  const server = await createApiServer({ ...ports, listen: false });
  const kube = server.client(server.adminUser);
  const stop = new AbortController();
  for (let i = 0; i < VOLUMES; i++) {
    const csi = { driver: 'bench', volumeHandle: String(i) };
    const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi };
    await kube.create(persistentVolumes, { metadata: { name: `volume-${i}` }, spec });
  }
  let runs = 0;
  const caughtUp = Array.from({ length: followers }, () => {
    const informers = createInformers({ ...ports, kube });
    const volumes = informers.of(persistentVolumes);
    const loop = createLoop({
      ...ports,
      name: 'bench',
      async reconcile() {
        runs++;
        return done;
      },
    });
    const look = (name: string): void => loop.add(name);
    volumes.subscribe({
      added: ({ metadata }) => look(metadata.name),
      updated: (_before, { metadata }) => look(metadata.name),
    });
    informers.start(stop.signal);
    void loop.run(stop.signal);
    return (name: string, version: string) =>
      volumes.waitFor(name, (volume) => volume?.metadata.resourceVersion === version);
  });
  let written = 0;
  return {
    async round() {
      const before = runs;
      for (let i = 0; i < changes; i++) {
        const name = `volume-${written++ % VOLUMES}`;
        const patch = { metadata: { annotations: { change: String(written) } } };
        const { metadata } = await kube.patch(persistentVolumes, { name }, patch, { type: 'merge' });
        // Loops yield now and then; a server with a disk yields often.
        await setImmediate();
        if (i === changes - 1)
          await Promise.all(caughtUp.map((upTo) => upTo(name, metadata.resourceVersion)));
      }
      return { operations: changes, figures: { 'runs a change': (runs - before) / changes } };
    },
    async stop() {
      stop.abort();
      await server.stop();
    },
  };
}

export const benchmark = defineBenchmark({
  summary: 'A change of an object, and what it costs each who follows it and has nothing to do',
  operation: 'change',
  flags: {
    changes: intFlag({ help: 'Changes a round', default: 2_000, min: 1 }),
    followers: intFlag({ help: 'Who follows the kind', default: 40, min: 1 }),
  },
  candidates: {
    'nobody follows': ({ flags }) => candidate(0, flags.changes),
    'many follow': ({ flags }) => candidate(flags.followers, flags.changes),
  },
});
