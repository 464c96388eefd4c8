// What several steps of `berth try` do to the volume and its pod, and what they wait for.

import { persistentVolumeClaims, pods, volumeAttachments } from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { NAMESPACE } from '../demo/story-objects.ts';
import { ifThere } from '../runtime/kube/if-there.ts';
import type { TraceEntry } from '../trace/trace-entry.ts';
import { StepFailure } from './try-step.ts';
import type { TryWorld } from './try-world.ts';

/** The claim of the volume, and the pod that uses it. */
export const CLAIM = 'try';
export const POD = 'try';

export async function bound(world: TryWorld, claimName: string): Promise<void> {
  await world.until(persistentVolumeClaims, claimName, (claim) => claim?.status?.phase === 'Bound');
}

/** The pod that uses the volume; several steps watch its start. */
export async function startPod(world: TryWorld): Promise<void> {
  if (world.options.cluster.server.reader.get(pods, { namespace: NAMESPACE, name: POD })) return;
  await world.createPod(POD, CLAIM);
}

/** Until the volume is on no node. */
export async function removePod(world: TryWorld): Promise<void> {
  const volume = (await world.volumeOf(CLAIM)).metadata.name;
  await world.deletePod(POD);
  const { reader } = world.options.cluster.server;
  const held = [...reader.list(volumeAttachments)].filter(
    ({ spec }) => spec.source.persistentVolumeName === volume,
  );
  for (const { metadata } of held) {
    await world.until(volumeAttachments, metadata.name, (object) => object === undefined);
  }
}

/** A claim with a source, and a pod that must see the data of the source. */
export async function copied(
  world: TryWorld,
  name: string,
  dataSource: { apiGroup?: string; kind: string; name: string },
): Promise<string> {
  await world.kube.create(persistentVolumeClaims, world.claim(name, { dataSource }));
  await world.createPod(name, name);
  await bound(world, name);
  await holdsText(world, await world.published(name));
  return 'with the data of the first';
}

export async function holdsText(world: TryWorld, directory: string): Promise<void> {
  const found = await world.read(directory).catch((error: Error) => {
    throw new StepFailure(`the file that was written cannot be read: ${error.message}`);
  });
  if (found === world.text) return;
  throw new StepFailure(`wrote ${JSON.stringify(world.text)}, read ${JSON.stringify(found)}`);
}

/** Until a call of this method succeeded for the volume. */
export async function called(world: TryWorld, method: string): Promise<void> {
  const { book } = world.options.cluster;
  const handle = (await world.volumeOf(CLAIM)).spec.csi?.volumeHandle;
  const isCall = (entry: TraceEntry): boolean =>
    entry.kind === 'csi' &&
    entry.method === method &&
    entry.code === 'OK' &&
    entry.request.volumeId === handle;
  await world.untilHolds(
    (changed) => book.follow(changed),
    () => book.entries().some(isCall),
  );
}

export async function removed(
  world: TryWorld,
  resource: Resource<KubeObject>,
  object: KubeObject,
): Promise<void> {
  await ifThere(world.kube.delete(resource, object.metadata));
  await world.until(resource, object.metadata.name, (found) => found === undefined);
}
