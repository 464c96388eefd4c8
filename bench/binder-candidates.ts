// The binder on the embedded API server, all in this process: pre-created volumes, and as many claims.

import { persistentVolumeClaims, persistentVolumes } from '../src/api/kinds.ts';
import { createApiServer } from '../src/apiserver/index.ts';
import { createBinder } from '../src/control-plane/binder/binder.ts';
import { createEventRecorder } from '../src/runtime/events/create-event-recorder.ts';
import { createInformers } from '../src/runtime/informer/create-informers.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import type { Candidate } from './harness.ts';

const SIZES = ['1Gi', '2Gi', '5Gi', '10Gi'];

/** The time from the first creation until the last claim is bound. `first` is created before the other kind. */
export async function binding(count: number, first: 'volumes' | 'claims'): Promise<Candidate> {
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const server = await createApiServer({ ...ports, listen: false });
  const kube = server.client(server.adminUser);
  const stop = new AbortController();
  const informers = createInformers({ ...ports, kube });
  const recorder = createEventRecorder({ ...ports, kube, component: 'binder', signal: stop.signal });
  const binder = createBinder({ ...ports, kube, informers, recorder });
  informers.start(stop.signal);
  const running = binder.run(stop.signal);
  const claims = informers.of(persistentVolumeClaims);
  let round = 0;

  const createVolumes = (prefix: string) =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        kube.create(persistentVolumes, {
          metadata: { name: `${prefix}-${i}` },
          spec: {
            capacity: { storage: SIZES[i % SIZES.length] ?? '1Gi' },
            accessModes: ['ReadWriteOnce'],
            storageClassName: prefix,
            csi: { driver: 'bench', volumeHandle: `${prefix}-${i}` },
          },
        }),
      ),
    );
  const createClaims = (prefix: string) =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        kube.create(persistentVolumeClaims, {
          metadata: { name: `${prefix}-${i}`, namespace: 'default' },
          spec: {
            accessModes: ['ReadWriteOnce'],
            storageClassName: prefix,
            resources: { requests: { storage: SIZES[i % SIZES.length] ?? '1Gi' } },
          },
        }),
      ),
    );

  return {
    async round() {
      const prefix = `round-${round++}`;
      const steps = [createVolumes, createClaims];
      if (first === 'claims') steps.reverse();
      for (const step of steps) await step(prefix);
      for (let i = 0; i < count; i++) {
        await claims.waitFor(`default/${prefix}-${i}`, (claim) => claim?.status?.phase === 'Bound');
      }
      return { operations: count };
    },
    async stop() {
      stop.abort();
      await running.catch(() => {});
      await server.stop();
    },
  };
}
