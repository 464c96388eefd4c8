// The attacher's finalizer on PersistentVolumes: there before the first ControllerPublishVolume, gone once no
// VolumeAttachment refers to the volume: at once where nobody has a claim on it any more, else a moment later, because a
// pod that moves attaches its volume elsewhere. Owns that finalizer and nothing else of the volume.

import { type PersistentVolume, persistentVolumes, type VolumeAttachment } from '../../api/kinds.ts';
import { attacherFinalizer } from '../../api/well-known.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import {
  addFinalizer,
  hasFinalizer,
  releaseFinalizer,
  renewFinalizer,
} from '../../runtime/kube/finalizers.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isConflict } from '../../runtime/kube/kube-error.ts';
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
  readonly #finalizer: string;
  readonly #volumes: ReadYourWrites<PersistentVolume>;
  readonly #attachments: Informer<VolumeAttachment>;
  /** Removals in flight. An attachment that appears meanwhile waits, and adds the finalizer again. */
  readonly #removals = new Map<string, Promise<unknown>>();
  /** By UID: the finalizer was written by this process, which has sent no removal since. */
  readonly #held = new Set<string>();
  /** Since when nothing attaches a volume that has the finalizer, by the monotonic clock. */
  readonly #freeSinceMs = new Map<string, number>();

  constructor(options: VolumeProtectionOptions) {
    this.#kube = options.kube;
    this.#clock = options.clock;
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
   * The volume as the server has it now, with the finalizer. One that this process has not written is renewed: an earlier
   * attacher's removal of it may still be on its way.
   */
  async protect(volume: PersistentVolume, signal: AbortSignal): Promise<PersistentVolume> {
    const { name, uid } = volume.metadata;
    this.#freeSinceMs.delete(name);
    const request = { kube: this.#kube, resource: persistentVolumes, needsAnswer: true, signal };
    const ours = { ...request, finalizer: this.#finalizer };
    if (this.#held.has(uid)) {
      const object = await this.#kube.get(persistentVolumes, { name }, { signal });
      return this.#volumes.wrote(await addFinalizer({ ...ours, object }));
    }
    const written = await renewFinalizer({ ...ours, object: volume });
    this.#held.add(uid);
    return this.#volumes.wrote(written);
  }

  /** Another replica may have removed finalizers that this one wrote. */
  forgetHeld(): void {
    this.#held.clear();
  }

  gone({ metadata: { uid } }: PersistentVolume): void {
    this.#held.delete(uid);
  }

  isProtected(volume: PersistentVolume): boolean {
    return hasFinalizer(volume, this.#finalizer);
  }

  readonly reconcile: Reconcile = async (name, { signal }) => {
    const volume = this.#volumes.get(name);
    const isAttached = this.#attachments.byIndex(BY_VOLUME, name).length > 0;
    if (volume === undefined || isAttached || !hasFinalizer(volume, this.#finalizer)) {
      this.#freeSinceMs.delete(name);
      return done;
    }
    const leftMs = this.#keepMs(volume);
    if (leftMs > 0) return requeueAfter(leftMs, 'a pod may attach the volume elsewhere');
    const request = { kube: this.#kube, resource: persistentVolumes, object: volume, signal };
    this.#held.delete(volume.metadata.uid);
    const removal = releaseFinalizer({ ...request, finalizer: this.#finalizer });
    this.#removals.set(name, removal);
    try {
      const written = await removal;
      if (written !== undefined) this.#volumes.wrote(written);
      this.#log.v(2).info('No attachment refers to the volume any more', { persistentVolume: name });
      this.#freeSinceMs.delete(name);
    } catch (error) {
      // The cache may be behind for long.
      if (isConflict(error)) await this.#readAgain(name, signal);
      throw error;
    } finally {
      this.#removals.delete(name);
    }
    return done;
  };

  async #readAgain(name: string, signal: AbortSignal): Promise<void> {
    const current = await ifThere(this.#kube.get(persistentVolumes, { name }, { signal }));
    if (current !== undefined) this.#volumes.wrote(current);
  }

  /** How long the finalizer stays on a volume that nothing attaches. */
  #keepMs({ metadata, status }: PersistentVolume): number {
    if (status?.phase !== 'Bound' || metadata.deletionTimestamp !== undefined) return 0;
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#freeSinceMs.get(metadata.name) ?? nowMs;
    this.#freeSinceMs.set(metadata.name, sinceMs);
    return Math.ceil(sinceMs + KEEP_MS - nowMs);
  }
}
