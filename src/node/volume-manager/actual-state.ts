// The actual state: what is mounted. A mount is `mounted`, absent, or `uncertain`: a call may have taken effect, or the
// agent restarted before it knew. An uncertain mount is set up again before use, and torn down like a mounted one.

import { volumeKeyOf } from '../../csi-plugin/mount/mountable-volume.ts';
import type { KnownVolume } from '../../csi-plugin/mount/volume-record.ts';
import { mountKey } from './desired-state.ts';

export type MountState = 'mounted' | 'uncertain';

export interface ActualMount {
  readonly podUid: string;
  readonly volume: KnownVolume;
  state: MountState;
  /** The target path, once published. */
  path: string;
  readOnly: boolean;
  /** Monotonic time of the last successful NodePublishVolume. */
  publishedAtMs: number;
}

export interface ActualVolume {
  /** As it is staged, or was mounted first. */
  volume: KnownVolume;
  device: 'unmounted' | MountState;
  /** The driver staged nothing, because it could not when the device was mounted. It may come back and want that. */
  isUnstaged: boolean;
  readonly mounts: Map<string, ActualMount>;
  /**
   * The size of the last expansion, spelled as in the claim, and the version of the claim that was told, or no longer waited
   * for it. A later one that waits for the same size was sent back by the resizer.
   */
  expanded: { to: string; asOf: string | undefined } | undefined;
  /**
   * Its filesystem has at least this size. Undefined where that is not known: it was mounted before this process started, or
   * while an expansion was under way.
   */
  size: string | undefined;
}

export class ActualState {
  readonly #volumes = new Map<string, ActualVolume>();

  get(volumeKey: string): ActualVolume | undefined {
    return this.#volumes.get(volumeKey);
  }

  keys(): string[] {
    return [...this.#volumes.keys()];
  }

  values(): Iterable<ActualVolume> {
    return this.#volumes.values();
  }

  mount(volumeKey: string, podUid: string, specName: string): ActualMount | undefined {
    return this.#volumes.get(volumeKey)?.mounts.get(mountKey(podUid, specName));
  }

  mountsOfPod(podUid: string): ActualMount[] {
    const found: ActualMount[] = [];
    for (const { mounts } of this.#volumes.values()) {
      for (const mount of mounts.values()) if (mount.podUid === podUid) found.push(mount);
    }
    return found;
  }

  /** `size` counts only if nothing of the volume was mounted before: what is mounted may be smaller. */
  setDevice(volume: KnownVolume, state: ActualVolume['device'], size?: string): void {
    const entry = this.#entry(volume, size);
    if (entry.device === 'unmounted') entry.volume = volume;
    entry.device = state;
    if (state !== 'uncertain') entry.isUnstaged = false;
    if (state === 'unmounted') {
      entry.expanded = undefined;
      entry.size = undefined;
    }
    this.#prune(volume);
  }

  /** It is mounted, and its driver had nothing to do for that. */
  setUnstaged(volume: KnownVolume, size?: string): void {
    this.setDevice(volume, 'mounted', size);
    this.#entry(volume).isUnstaged = true;
  }

  setMount(mount: Omit<ActualMount, 'publishedAtMs'> & { publishedAtMs?: number }): void {
    const { mounts } = this.#entry(mount.volume);
    const key = mountKey(mount.podUid, mount.volume.specName);
    mounts.set(key, { publishedAtMs: mounts.get(key)?.publishedAtMs ?? 0, ...mount });
  }

  removeMount(volume: KnownVolume, podUid: string): void {
    this.get(volumeKeyOf(volume))?.mounts.delete(mountKey(podUid, volume.specName));
    this.#prune(volume);
  }

  #entry(volume: KnownVolume, size?: string): ActualVolume {
    const key = volumeKeyOf(volume);
    const known = this.#volumes.get(key);
    if (known) return known;
    const entry: ActualVolume = {
      volume,
      device: 'unmounted',
      isUnstaged: false,
      mounts: new Map(),
      expanded: undefined,
      size,
    };
    this.#volumes.set(key, entry);
    return entry;
  }

  #prune(volume: KnownVolume): void {
    const key = volumeKeyOf(volume);
    const entry = this.#volumes.get(key);
    if (entry?.device === 'unmounted' && entry.mounts.size === 0) this.#volumes.delete(key);
  }
}
