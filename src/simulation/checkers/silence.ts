// Since when each node has not been ready, and since when each volume has had no pod there: both must have lasted six
// minutes before a volume may be detached by force.

import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/kinds.ts';
import { claimNameOf, isTerminated } from '../../api/volumes.ts';
import type { Entry } from '../history.ts';
import { OUT_OF_SERVICE } from '../users.ts';

/** Kubernetes' own figure. */
const FORCE_AFTER_MS = 6 * 60_000;

export interface Known {
  claims: ReadonlyMap<string, PersistentVolumeClaim>;
  volumes: ReadonlyMap<string, PersistentVolume>;
}

export class Silence {
  readonly #known: Known;
  readonly #unreadySinceMs = new Map<string, number>();
  readonly #outOfService = new Set<string>();
  readonly #pods = new Map<string, Pod>();
  /** `volume node` to when the last pod that used it there went. */
  readonly #leftAtMs = new Map<string, number>();

  constructor(known: Known) {
    this.#known = known;
  }

  take(entry: Extract<Entry, { kind: 'api' }>): void {
    if (entry.plural === 'nodes') this.#takeNode(entry.key, entry.after as Node | undefined, entry.atMs);
    else if (entry.plural === 'pods') this.#takePod(entry.key, entry.after as Pod | undefined, entry.atMs);
  }

  isReady(node: string): boolean {
    return !this.#unreadySinceMs.has(node);
  }

  /**
   * Whether no pod there uses the volume, and six minutes of silence have passed since the last one, or the node is out of
   * service. The taint is enough: the Node may still be ready, because the control plane was away when it fell silent.
   */
  mayForce(volume: string, node: string, atMs: number): boolean {
    for (const pod of this.#pods.values()) {
      if (pod.spec.nodeName === node && !isTerminated(pod) && this.#handlesOf(pod).includes(volume))
        return false;
    }
    if (this.#outOfService.has(node)) return true;
    const unreadyMs = this.#unreadySinceMs.get(node);
    if (unreadyMs === undefined) return false;
    const leftMs = this.#leftAtMs.get(`${volume} ${node}`) ?? 0;
    return atMs - Math.max(unreadyMs, leftMs) >= FORCE_AFTER_MS;
  }

  #takeNode(name: string, node: Node | undefined, atMs: number): void {
    const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
    if (node === undefined || ready?.status === 'True') this.#unreadySinceMs.delete(name);
    else if (!this.#unreadySinceMs.has(name)) this.#unreadySinceMs.set(name, atMs);
    if (node?.spec?.taints?.some(({ key }) => key === OUT_OF_SERVICE)) this.#outOfService.add(name);
    else this.#outOfService.delete(name);
  }

  #takePod(key: string, after: Pod | undefined, atMs: number): void {
    const before = this.#pods.get(key);
    const hasLeft =
      before && (after === undefined || isTerminated(after) || after.metadata.uid !== before.metadata.uid);
    if (hasLeft) {
      for (const handle of this.#handlesOf(before))
        this.#leftAtMs.set(`${handle} ${before.spec.nodeName}`, atMs);
    }
    if (after) this.#pods.set(key, after);
    else this.#pods.delete(key);
  }

  #handlesOf(pod: Pod): string[] {
    return (pod.spec.volumes ?? []).flatMap((volume) => {
      if (volume.csi?.volumeHandle) return [volume.csi.volumeHandle];
      const name = claimNameOf(pod, volume);
      const claim = name && this.#known.claims.get(`${pod.metadata.namespace}/${name}`);
      const handle = claim && this.#known.volumes.get(claim.spec.volumeName ?? '')?.spec.csi?.volumeHandle;
      return handle ? [handle] : [];
    });
  }
}
