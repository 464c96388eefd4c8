// The attacher's finalizer on PersistentVolumes: there before the first ControllerPublishVolume, gone once no
// VolumeAttachment refers to the volume: at once where nobody has a claim on it any more, else a moment later, because a
// pod that moves attaches its volume elsewhere. Owns that finalizer and nothing else of the volume.

import { type PersistentVolume, persistentVolumes, type VolumeAttachment } from '../../api/kinds.ts';
import { attacherFinalizer } from '../../api/well-known.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { SharedFinalizer } from '../../runtime/kube/shared-finalizer.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { done, type Reconcile, requeueAfter } from '../../runtime/queue/loop.ts';

export const BY_VOLUME = 'volume';

/** Longer than a pod takes to move to another node. Removing and adding the finalizer would be two writes of the volume. */
const KEEP_MS = 10_000;

export interface VolumeProtectionOptions {
  kube: KubeClient;
  driver: DriverName;
  volumes: Informer<PersistentVolume>;
  /** With the index BY_VOLUME. */
  attachments: Informer<VolumeAttachment>;
  clock: Clock;
  log: Log;
}

export class VolumeProtection {
  readonly #kube: KubeClient;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #finalizer: SharedFinalizer<PersistentVolume>;
  readonly #volumes: ReadYourWrites<PersistentVolume>;
  readonly #attachments: Informer<VolumeAttachment>;
  /** Since when nothing attaches a volume that has the finalizer, by the monotonic clock. */
  readonly #freeSinceMs = new Map<string, number>();

  constructor(options: VolumeProtectionOptions) {
    this.#kube = options.kube;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#volumes = new ReadYourWrites(options.volumes);
    this.#finalizer = new SharedFinalizer({
      kube: options.kube,
      resource: persistentVolumes,
      finalizer: attacherFinalizer(options.driver),
      objects: this.#volumes,
    });
    this.#attachments = options.attachments;
  }

  /** The volume as last seen or written, once no write of this process is in flight. */
  async read(name: string): Promise<PersistentVolume | undefined> {
    await this.#finalizer.settled(name);
    return this.#volumes.get(name);
  }

  /**
   * The volume as the server has it now, with the finalizer. One that this process has not written is renewed: an earlier
   * attacher's removal of it may still be on its way.
   */
  async protect(volume: PersistentVolume, signal: AbortSignal): Promise<PersistentVolume> {
    const { name } = volume.metadata;
    this.#freeSinceMs.delete(name);
    const how = { needsAnswer: true, signal };
    if (!this.#finalizer.isHeld(volume)) return this.#finalizer.renew(volume, how);
    return this.#finalizer.add(await this.#kube.get(persistentVolumes, { name }, { signal }), how);
  }

  /** Another replica may have removed finalizers that this one wrote. */
  forgetHeld(): void {
    this.#finalizer.forgetHeld();
  }

  gone(volume: PersistentVolume): void {
    this.#finalizer.gone(volume);
  }

  isProtected(volume: PersistentVolume): boolean {
    return this.#finalizer.isOn(volume);
  }

  readonly reconcile: Reconcile = async (name, { signal }) => {
    const volume = this.#volumes.get(name);
    const isAttached = this.#attachments.byIndex(BY_VOLUME, name).length > 0;
    if (volume === undefined || isAttached || !this.isProtected(volume)) {
      this.#freeSinceMs.delete(name);
      return done;
    }
    const leftMs = this.#keepMs(volume);
    if (leftMs > 0) return requeueAfter(leftMs, 'a pod may attach the volume elsewhere');
    await this.#finalizer.release(volume, signal);
    this.#log.v(2).info('No attachment refers to the volume any more', { persistentVolume: name });
    this.#freeSinceMs.delete(name);
    return done;
  };

  /** How long the finalizer stays on a volume that nothing attaches. */
  #keepMs({ metadata, status }: PersistentVolume): number {
    if (status?.phase !== 'Bound' || metadata.deletionTimestamp !== undefined) return 0;
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#freeSinceMs.get(metadata.name) ?? nowMs;
    this.#freeSinceMs.set(metadata.name, sinceMs);
    return Math.ceil(sinceMs + KEEP_MS - nowMs);
  }
}
