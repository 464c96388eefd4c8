// Creates VolumeAttachments of one driver on one node, and waits until its attacher has attached them.
import { csiNodes, persistentVolumes, volumeAttachments } from '../src/api/kinds.ts';
import { createInformers } from '../src/runtime/informer/create-informers.ts';
import type { KubeClient } from '../src/runtime/kube/kube.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';

const NODE = 'n';

export interface Attachments {
  /** Milliseconds from the first VolumeAttachment until all are attached; the volumes are created before. */
  attach(count: number, prefix: string): Promise<number>;
  stop(): void;
}

export async function startAttachments(kube: KubeClient, driver: string): Promise<Attachments> {
  const stop = new AbortController();
  const informers = createInformers({ kube, clock: realClock, random: realRandom, log: silentLog });
  const attachments = informers.of(volumeAttachments);
  informers.start(stop.signal);
  await informers.synced();
  await kube.create(csiNodes, {
    metadata: { name: NODE },
    spec: { drivers: [{ name: driver, nodeID: NODE, topologyKeys: [] }] },
  });
  return {
    async attach(count, prefix) {
      const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
      for (const name of names) {
        await kube.create(persistentVolumes, {
          metadata: { name },
          spec: {
            capacity: { storage: '1Mi' },
            accessModes: ['ReadWriteOnce'],
            csi: { driver, volumeHandle: name },
          },
        });
      }
      const startMs = performance.now();
      for (const name of names) {
        await kube.create(volumeAttachments, {
          metadata: { name },
          spec: { attacher: driver, nodeName: NODE, source: { persistentVolumeName: name } },
        });
      }
      for (const name of names) await attachments.waitFor(name, (each) => each?.status?.attached === true);
      return performance.now() - startMs;
    },
    stop: () => stop.abort(),
  };
}
