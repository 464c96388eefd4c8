// The desired state: for each pod on this node, the resolved volumes to mount. Written only by the populator, read by
// the reconciler.

import type { Pod } from '../../api/kinds.ts';
import { type MountableVolume, volumeKeyOf } from '../../csi-plugin/mount/mountable-volume.ts';

/** One volume for one pod; the pod may use it under several names. */
export interface DesiredMount {
  readonly pod: Pod;
  readonly volume: MountableVolume;
  readonly volumeNames: readonly string[];
  readonly readOnly: boolean;
  /** Its claim, `namespace/name`. */
  readonly claimKey?: string;
}

export interface DesiredPod {
  readonly pod: Pod;
  /** All of its volumes are known: anything else that is mounted for it is surplus. */
  readonly resolved: boolean;
  /** By the volume's `specName`. */
  readonly mounts: ReadonlyMap<string, DesiredMount>;
}

export class DesiredState {
  readonly #pods = new Map<string, DesiredPod>();
  readonly #byVolume = new Map<string, Map<string, DesiredMount>>();
  /** Every pod that existed at the start has been resolved once: only from then on is anything unmounted. */
  isPopulated = false;

  pod(uid: string): DesiredPod | undefined {
    return this.#pods.get(uid);
  }

  pods(): Iterable<DesiredPod> {
    return this.#pods.values();
  }

  /** Keyed by pod UID and spec name. */
  mountsOf(volumeKey: string): ReadonlyMap<string, DesiredMount> {
    return this.#byVolume.get(volumeKey) ?? new Map();
  }

  volumeKeys(): Iterable<string> {
    return this.#byVolume.keys();
  }

  /** Returns the keys of the volumes whose desired state changed. */
  set(pod: DesiredPod): string[] {
    const uid = pod.pod.metadata.uid;
    const keys = this.remove(uid);
    this.#pods.set(uid, pod);
    for (const mount of pod.mounts.values()) {
      const key = volumeKeyOf(mount.volume);
      const mounts = this.#byVolume.get(key) ?? new Map<string, DesiredMount>();
      mounts.set(mountKey(uid, mount.volume.specName), mount);
      this.#byVolume.set(key, mounts);
      keys.push(key);
    }
    return [...new Set(keys)];
  }

  remove(uid: string): string[] {
    const known = this.#pods.get(uid);
    this.#pods.delete(uid);
    const keys: string[] = [];
    for (const mount of known?.mounts.values() ?? []) {
      const key = volumeKeyOf(mount.volume);
      const mounts = this.#byVolume.get(key);
      mounts?.delete(mountKey(uid, mount.volume.specName));
      if (mounts?.size === 0) this.#byVolume.delete(key);
      keys.push(key);
    }
    return keys;
  }
}

export function mountKey(podUid: string, specName: string): string {
  return `${podUid}/${specName}`;
}
