// Which PersistentVolumes exist, and which volumes they stand for: the cache, and on top of it what this process has
// created or is about to and the cache has not seen yet. Two claims can then never be given one volume, and a claim is
// not provisioned twice because the watch is slow.

import { type PersistentVolume, persistentVolumes } from '../../../api/kinds.ts';
import type { Informer, Informers } from '../../../runtime/informer/informer.ts';
import type { Clock } from '../../../runtime/ports.ts';

const BY_HANDLE = 'provisioner/handle';
/** A volume that the cache does not show within this time was deleted before it could. */
const FORGET_AFTER_MS = 60_000;

interface Made {
  handle: string;
  claimUid: string;
  forgetAtMs: number;
}

export class VolumesMade {
  readonly #volumes: Informer<PersistentVolume>;
  readonly #driver: string;
  readonly #clock: Clock;
  /** Those that were added first come first, and are forgotten first. */
  readonly #made = new Map<string, Made>();
  /** What is made never shares a volume: its name, by the volume's handle. */
  readonly #names = new Map<string, string>();

  constructor(options: { informers: Informers; driver: string; clock: Clock }) {
    this.#volumes = options.informers.of(persistentVolumes);
    this.#driver = options.driver;
    this.#clock = options.clock;
    this.#volumes.addIndex(BY_HANDLE, ({ spec: { csi } }) =>
      csi?.driver === this.#driver ? [csi.volumeHandle] : [],
    );
    this.#volumes.subscribe({
      added: (volume) => this.remove(volume.metadata.name),
      deleted: (volume) => this.remove(volume.metadata.name),
    });
  }

  /** Whom the PersistentVolume of this name is for. */
  claimOf(volumeName: string): { claimUid: string | undefined } | undefined {
    const cached = this.#volumes.get(volumeName);
    if (cached) return { claimUid: cached.spec.claimRef?.uid };
    const made = this.#made.get(volumeName);
    if (!made || made.forgetAtMs < this.#clock.monotonicMs()) return undefined;
    return { claimUid: made.claimUid };
  }

  /** The PersistentVolume, other than `volumeName`, that stands for this volume. */
  ownerOf(handle: string, volumeName: string): string | undefined {
    const cached = this.#volumes.byIndex(BY_HANDLE, handle).find((each) => each.metadata.name !== volumeName);
    if (cached) return cached.metadata.name;
    const name = this.#names.get(handle);
    const made = name === undefined ? undefined : this.#made.get(name);
    return made && name !== volumeName && made.forgetAtMs >= this.#clock.monotonicMs() ? name : undefined;
  }

  /** From before it is created. */
  add(volumeName: string, made: { handle: string; claimUid: string }): void {
    if (this.#volumes.get(volumeName)) return;
    const nowMs = this.#clock.monotonicMs();
    for (const name of this.#made.keys()) {
      if ((this.#made.get(name) as Made).forgetAtMs >= nowMs) break;
      this.remove(name);
    }
    this.remove(volumeName);
    this.#made.set(volumeName, { ...made, forgetAtMs: nowMs + FORGET_AFTER_MS });
    this.#names.set(made.handle, volumeName);
  }

  /** It could not be created, or the cache shows it. */
  remove(volumeName: string): void {
    const made = this.#made.get(volumeName);
    if (made === undefined) return;
    this.#made.delete(volumeName);
    if (this.#names.get(made.handle) === volumeName) this.#names.delete(made.handle);
  }
}
