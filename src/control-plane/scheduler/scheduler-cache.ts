// The scheduler's cache: nodes with the pods on them, including assumed pods, whose binding is decided but not yet
// seen. Fed by informers, read by the search, changed only within one turn of the event loop.

import type { Node, Pod, VolumeAttachment } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { inlineSourceOf, isTerminated, storageClassOf } from '../../api/volumes.ts';
import { type DriverName, volumeNamesOf } from '../../csi/names/driver-name.ts';
import { claimKeysOf } from '../pods-by-claim.ts';
import { NodeIndex } from './node-index.ts';
import { NodeInfo } from './node-info.ts';
import {
  addTo,
  type CountedVolume,
  claimVolume,
  countedVolume,
  isBound,
  type VolumeLookups,
} from './pod-volumes.ts';

export interface CacheLookups extends VolumeLookups {
  attachmentsOn(nodeName: string): Iterable<VolumeAttachment>;
}

export class SchedulerCache {
  readonly index = new NodeIndex();
  readonly #lookups: CacheLookups;
  readonly #infos = new Map<string, NodeInfo>();
  /** The node of each pod, bound or assumed. */
  readonly #places = new Map<string, { nodeName: string; assumed: boolean }>();

  constructor(lookups: CacheLookups) {
    this.#lookups = lookups;
  }

  info(nodeName: string): NodeInfo | undefined {
    return this.#infos.get(nodeName);
  }

  setNode(node: Node): void {
    const info = this.#infoFor(node.metadata.name);
    this.index.put(info, info.node, node);
    info.node = node;
  }

  removeNode(name: string): void {
    const info = this.#infos.get(name);
    if (!info) return;
    this.index.put(info, info.node, undefined);
    info.node = undefined;
    this.#tidy(info);
  }

  /** A pod as the server has it. Returns whether a node has more room now. */
  setPod(pod: Pod): boolean {
    const key = keyOf(pod);
    const { nodeName } = pod.spec;
    if (nodeName && !isTerminated(pod)) {
      const before = this.nodeOf(key);
      this.#place(key, pod, { nodeName, assumed: false });
      return before !== undefined && before !== nodeName;
    }
    if (!nodeName && this.#places.get(key)?.assumed) return false;
    return this.removePod(key);
  }

  removePod(key: string): boolean {
    const place = this.#places.get(key);
    if (!place) return false;
    this.#places.delete(key);
    const info = this.#infos.get(place.nodeName);
    info?.remove(key);
    if (info) this.#tidy(info);
    return true;
  }

  /** Assumes the pod on the node until the server shows where it is, or `forget` is called. */
  assume(pod: Pod, nodeName: string): void {
    this.#place(keyOf(pod), pod, { nodeName, assumed: true });
  }

  forget(key: string): void {
    if (this.#places.get(key)?.assumed) this.removePod(key);
  }

  isPlaced(key: string): boolean {
    return this.#places.has(key);
  }

  /** Where the pod is, bound or assumed. */
  nodeOf(key: string): string | undefined {
    return this.#places.get(key)?.nodeName;
  }

  /** A claim or volume changed: drops what was computed for the nodes of these pods. */
  volumesChanged(pods: Iterable<Pod>): void {
    for (const pod of pods) {
      const place = this.#places.get(keyOf(pod));
      const info = place && this.#infos.get(place.nodeName);
      if (info) info.volumes = undefined;
    }
  }

  attachmentsChanged(nodeName: string): void {
    const info = this.#infos.get(nodeName);
    if (info) info.volumes = undefined;
  }

  /** Volumes on a node by driver: those of its pods, and all that are attached to it. */
  volumesOn(info: NodeInfo): ReadonlyMap<DriverName, ReadonlySet<CountedVolume>> {
    if (info.volumes) return info.volumes;
    const byDriver = new Map<DriverName, Set<CountedVolume>>();
    const add = (driver: DriverName, volume: CountedVolume) => addTo(byDriver, driver, volume);
    for (const pod of info.pods.values()) this.#addVolumesOf(pod, add);
    for (const attachment of this.#lookups.attachmentsOn(info.name)) {
      add(attachment.spec.attacher as DriverName, this.#attachedVolume(attachment));
    }
    info.volumes = byDriver;
    return byDriver;
  }

  #addVolumesOf(pod: Pod, add: (driver: DriverName, volume: CountedVolume) => void): void {
    for (const { csi } of pod.spec.volumes ?? []) {
      const { driver, volumeHandle } = csi ?? {};
      if (driver && volumeHandle) addVolume({ driver, volumeHandle }, add);
    }
    for (const key of claimKeysOf(pod)) {
      const claim = this.#lookups.claim(key);
      if (!claim) continue;
      const volume = isBound(claim) ? this.#lookups.volume(claim.spec.volumeName ?? '') : undefined;
      if (volume) addVolume(volume.spec.csi, add);
      else {
        const provisioner = this.#lookups.storageClass(storageClassOf(claim) ?? '')?.provisioner;
        if (provisioner) add(provisioner as DriverName, claimVolume(key));
      }
    }
  }

  #attachedVolume(attachment: VolumeAttachment): CountedVolume {
    const { persistentVolumeName } = attachment.spec.source;
    const volume =
      persistentVolumeName === undefined ? undefined : this.#lookups.volume(persistentVolumeName);
    const volumeHandle = volume?.spec.csi?.volumeHandle ?? inlineSourceOf(attachment)?.csi.volumeHandle;
    return volumeHandle === undefined
      ? (`attachment:${attachment.metadata.name}` as CountedVolume)
      : countedVolume(volumeNamesOf({ driver: attachment.spec.attacher, volumeHandle }));
  }

  #place(key: string, pod: Pod, place: { nodeName: string; assumed: boolean }): void {
    if (this.#places.get(key)?.nodeName !== place.nodeName) this.removePod(key);
    this.#places.set(key, place);
    this.#infoFor(place.nodeName).add(key, pod);
  }

  #infoFor(name: string): NodeInfo {
    const known = this.#infos.get(name);
    if (known) return known;
    const info = new NodeInfo(name);
    this.#infos.set(name, info);
    return info;
  }

  #tidy(info: NodeInfo): void {
    if (!info.node && info.pods.size === 0) this.#infos.delete(info.name);
  }
}

function addVolume(
  csi: Parameters<typeof volumeNamesOf>[0] | undefined,
  add: (driver: DriverName, volume: CountedVolume) => void,
): void {
  if (!csi) return;
  const names = volumeNamesOf(csi);
  add(names.driver, countedVolume(names));
}
