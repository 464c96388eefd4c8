// The attacher's finalizer on PersistentVolumes: there before the first ControllerPublishVolume, gone once no
// VolumeAttachment refers to the volume. Owns that finalizer and nothing else of the volume.

import { type PersistentVolume, persistentVolumes, type VolumeAttachment } from '../../api/kinds.ts';
import { attacherFinalizer } from '../../api/well-known.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { addFinalizer, hasFinalizer, removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import type { Log } from '../../runtime/ports.ts';
import { done, type Reconcile } from '../../runtime/queue/loop.ts';

export const BY_VOLUME = 'volume';

export interface VolumeProtectionOptions {
  kube: KubeClient;
  driver: DriverName;
  volumes: Informer<PersistentVolume>;
  /** With the index BY_VOLUME. */
  attachments: Informer<VolumeAttachment>;
  log: Log;
}

export class VolumeProtection {
  readonly #kube: KubeClient;
  readonly #log: Log;
  readonly #finalizer: string;
  readonly #volumes: ReadYourWrites<PersistentVolume>;
  readonly #attachments: Informer<VolumeAttachment>;
  /** Removals in flight. An attachment that appears meanwhile waits, and adds the finalizer again. */
  readonly #removals = new Map<string, Promise<unknown>>();

  constructor(options: VolumeProtectionOptions) {
    this.#kube = options.kube;
    this.#log = options.log;
    this.#finalizer = attacherFinalizer(options.driver);
    this.#volumes = new ReadYourWrites(options.volumes);
    this.#attachments = options.attachments;
  }

  /** The volume as last seen or written, once no write of this process is in flight. */
  async read(name: string): Promise<PersistentVolume | undefined> {
    await this.#removals.get(name)?.catch(() => {});
    return this.#volumes.get(name);
  }

  /**
   * The volume as the server has it now, with the finalizer. A cache that shows the finalizer may be behind another
   * attacher's removal of it, so the server is asked in that case, too.
   */
  async protect(volume: PersistentVolume, signal: AbortSignal): Promise<PersistentVolume> {
    const { name } = volume.metadata;
    const object = this.isProtected(volume)
      ? await this.#kube.get(persistentVolumes, { name }, { signal })
      : volume;
    const request = { kube: this.#kube, resource: persistentVolumes, object, signal };
    return this.#volumes.wrote(await addFinalizer({ ...request, finalizer: this.#finalizer }));
  }

  isProtected(volume: PersistentVolume): boolean {
    return hasFinalizer(volume, this.#finalizer);
  }

  readonly reconcile: Reconcile = async (name, { signal }) => {
    const volume = this.#volumes.get(name);
    if (volume === undefined || !hasFinalizer(volume, this.#finalizer)) return done;
    if (this.#attachments.byIndex(BY_VOLUME, name).length > 0) return done;
    const request = { kube: this.#kube, resource: persistentVolumes, object: volume, signal };
    const removal = removeFinalizer({ ...request, finalizer: this.#finalizer });
    this.#removals.set(name, removal);
    try {
      const written = await removal;
      if (written !== undefined) this.#volumes.wrote(written);
      this.#log.v(2).info('No attachment refers to the volume any more', { persistentVolume: name });
    } finally {
      this.#removals.delete(name);
    }
    return done;
  };
}
