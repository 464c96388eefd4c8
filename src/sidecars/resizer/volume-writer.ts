// The volumes as the resizer knows them, and its writes to them. None is decided from anything but what the driver just
// said or the node just finished, so none depends on a version.

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

  /** A patch that is undefined has nothing to change. */
  async write(
    { metadata: { name } }: PersistentVolume,
    patch: object | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (patch === undefined) return;
    const options = { type: 'merge', signal } as const;
    this.#volumes.wrote(await this.#kube.patch(persistentVolumes, { name }, patch, options));
  }
}
