// Desired state: which pods use which volume on which node, updated pod by pod so that no lookup walks all pods. A volume
// that a pod was once seen to use counts as used until the pod is gone: deleting its claim or PersistentVolume does not
// unmount it.

import type { Pod, PodVolume } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { isTerminated } from '../../api/volumes.ts';
import { slotKey } from './slot.ts';
import { type UsedVolume, type VolumeLookups, volumesOfPod } from './volumes-of-pod.ts';

interface PodEntry {
  uid: string;
  nodeName: string;
  volumes: Map<PodVolume['name'], UsedVolume>;
}

export class DesiredVolumes {
  readonly #lookups: VolumeLookups;
  readonly #pods = new Map<string, PodEntry>();
  readonly #podsBySlot = new Map<string, Set<string>>();
  readonly #slotsByNode = new Map<string, Set<string>>();

  constructor(lookups: VolumeLookups) {
    this.#lookups = lookups;
  }

  /** Slots in use. */
  get size(): number {
    return this.#podsBySlot.size;
  }

  slots(): Iterable<string> {
    return this.#podsBySlot.keys();
  }

  /** Takes in how the pod is now; returns the slots that it uses or used. */
  update(pod: Pod): string[] {
    const key = keyOf(pod);
    const before = this.#pods.get(key);
    const { nodeName } = pod.spec;
    if (!nodeName || isTerminated(pod)) return this.remove(key);
    const volumes = volumesOfPod(pod, this.#lookups);
    if (before?.uid === pod.metadata.uid) {
      for (const [name, used] of before.volumes) if (!volumes.has(name)) volumes.set(name, used);
    }
    if (!before && volumes.size === 0) return [];
    const touched = new Set(this.remove(key));
    if (volumes.size === 0) return [...touched];
    this.#pods.set(key, { uid: pod.metadata.uid, nodeName, volumes });
    for (const { volumeId } of volumes.values()) {
      const slot = slotKey(nodeName, volumeId);
      touched.add(slot);
      addTo(this.#podsBySlot, slot, key);
      addTo(this.#slotsByNode, nodeName, slot);
    }
    return [...touched];
  }

  remove(podKey: string): string[] {
    const entry = this.#pods.get(podKey);
    if (!entry) return [];
    this.#pods.delete(podKey);
    const touched: string[] = [];
    for (const { volumeId } of entry.volumes.values()) {
      const slot = slotKey(entry.nodeName, volumeId);
      touched.push(slot);
      if (deleteFrom(this.#podsBySlot, slot, podKey)) deleteFrom(this.#slotsByNode, entry.nodeName, slot);
    }
    return touched;
  }

  podsOf(slot: string): string[] {
    return [...(this.#podsBySlot.get(slot) ?? [])].sort();
  }

  slotsOn(nodeName: string): Iterable<string> {
    return this.#slotsByNode.get(nodeName) ?? [];
  }

  /** The volumes that pods use in this slot: more than one when PersistentVolumes share a handle. */
  volumesOf(slot: string): UsedVolume[] {
    const found = new Map<string, UsedVolume>();
    for (const podKey of this.podsOf(slot)) {
      const entry = this.#pods.get(podKey);
      for (const used of entry?.volumes.values() ?? []) {
        if (slotKey(entry?.nodeName ?? '', used.volumeId) !== slot) continue;
        const { volume } = used;
        found.set(volume.kind === 'inline' ? `inline ${volume.namespace}` : `pv ${volume.pvName}`, used);
      }
    }
    return [...found.values()];
  }
}

function addTo(map: Map<string, Set<string>>, key: string, value: string): void {
  const values = map.get(key);
  if (values) values.add(value);
  else map.set(key, new Set([value]));
}

/** True if that was the last one. */
function deleteFrom(map: Map<string, Set<string>>, key: string, value: string): boolean {
  const values = map.get(key);
  values?.delete(value);
  if (values?.size !== 0) return false;
  map.delete(key);
  return true;
}
