// Deleting volumes, on a real API server; the driver is what the test makes of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PersistentVolume, persistentVolumes } from '../../../api/kinds.ts';
import { FINALIZER_PROVISIONER } from '../../../api/well-known.ts';
import { testServer } from '../../../apiserver/testing/test-server.ts';
import { createInformers } from '../../../runtime/informer/create-informers.ts';
import { memoryLog } from '../../../runtime/log/log.ts';
import { createMetrics } from '../../../runtime/metrics/metrics.ts';
import { seededRandom } from '../../../runtime/random.ts';
import { realClock } from '../../../runtime/time/clock.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import { provisionerMetrics } from '../provisioner-metrics.ts';
import { createVolumeReconciler } from './volume-reconciler.ts';
import { indexByHandle } from './volume-use.ts';

const within = () => AbortSignal.timeout(20_000);

for (const [which, finalizers] of [
  ['that is protected', [FINALIZER_PROVISIONER]],
  ['without protection', []],
] as const) {
  test(`[PROV-4] a volume ${which} is replaced while its storage is deleted: the new one stays`, async (t) => {
    const server = await testServer(t);
    const kube = server.client(server.adminUser);
    const stop = new AbortController();
    t.after(() => stop.abort());
    const [clock, random, log] = [realClock, seededRandom('volumes'), memoryLog()];
    const informers = createInformers({ kube, clock, random, log });
    const volumes = informers.of(persistentVolumes);
    const make = (name: string, volumeHandle: string, metadata: object = {}): Promise<PersistentVolume> =>
      kube.create(persistentVolumes, {
        metadata: { name, ...metadata },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          persistentVolumeReclaimPolicy: 'Delete',
          csi: { driver: 'd.test', volumeHandle },
        },
      });
    const release = (name: string) =>
      kube.patch(
        persistentVolumes,
        { name },
        { status: { phase: 'Released' } },
        { type: 'merge', subresource: 'status' },
      );
    const deleted: string[] = [];
    async function replace(): Promise<void> {
      const name = { name: 'replaced' };
      await kube.patch(persistentVolumes, name, { metadata: { finalizers: null } }, { type: 'merge' });
      await kube.delete(persistentVolumes, name);
      const { uid } = (await make('replaced', 'new')).metadata;
      await volumes.waitFor('replaced', (each) => each?.metadata.uid === uid, within());
    }
    const context = {
      ...{ kube, informers, clock, log, capacityChanged() {} },
      driver: { name: 'd.test', controller: new Set() },
      byHandle: indexByHandle(informers, 'd.test' as never),
      loop: { clock, random, log, workers: 1 },
      recorder: { event() {}, flush: async () => {} },
      results: provisionerMetrics(createMetrics()),
      calls: {
        async delete(handle: string) {
          if (handle === 'old') await replace();
          deleted.push(handle);
        },
      },
    } as unknown as ProvisionerContext;
    const loop = createVolumeReconciler(context, () => true);
    informers.start(stop.signal);
    await informers.synced(within());
    const running = loop.run(stop.signal);
    await make('replaced', 'old', { finalizers });
    await make('next', 'next');
    await release('replaced');
    await release('next');
    // The only worker deletes this one when it is done with the other.
    await volumes.waitFor('next', (each) => each?.metadata.deletionTimestamp !== undefined, within());
    const { metadata, spec } = await kube.get(persistentVolumes, { name: 'replaced' });
    assert.deepEqual([spec.csi?.volumeHandle, metadata.deletionTimestamp], ['new', undefined]);
    assert.deepEqual(deleted, ['old', 'next']);
    stop.abort();
    await running;
  });
}
