// The resizer's reads and writes of volumes. All parts of the resizer use it, so that each sees the others' writes at once.

import { type PersistentVolume, persistentVolumes } from '../../api/kinds.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';

export class VolumeWriter {
  readonly #kube: KubeClient;
  readonly #volumes: ReadYourWrites<PersistentVolume>;

  constructor(kube: KubeClient, volumes: Informer<PersistentVolume>) {
    this.#kube = kube;
    this.#volumes = new ReadYourWrites(volumes);
  }

  get(name: string | undefined): PersistentVolume | undefined {
    return name ? this.#volumes.get(name) : undefined;
  }

  /** Returns the volume as it is then. An undefined patch means that there is nothing to change. */
  async write(
    volume: PersistentVolume,
    patch: object | undefined,
    signal: AbortSignal,
  ): Promise<PersistentVolume> {
    if (patch === undefined) return volume;
    const { name } = volume.metadata;
    const options = { type: 'merge', signal } as const;
    return this.#volumes.wrote(await this.#kube.patch(persistentVolumes, { name }, patch, options));
  }
}
