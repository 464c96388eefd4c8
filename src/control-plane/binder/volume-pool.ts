// The free volumes by class. Claims are reconciled concurrently, so a chosen volume is held until the choice is written:
// otherwise all of them would choose the same best volume, and all writes but one would conflict.

import type { Node, PersistentVolume, PersistentVolumeClaim } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { storageClassOf } from '../../api/volumes.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { matchVolume } from '../matching/match-volume.ts';

const BY_CLAIM = 'binder/volumes-by-claim';
const FREE_BY_CLASS = 'binder/free-volumes-by-class';

const claimKeys = ({ spec: { claimRef } }: PersistentVolume): string[] =>
  claimRef ? [`${claimRef.namespace}/${claimRef.name}`] : [];
const freeInClass = (volume: PersistentVolume): string[] =>
  volume.spec.claimRef ? [] : [storageClassOf(volume) ?? ''];

export class VolumePool {
  readonly #informer: Informer<PersistentVolume>;
  readonly #latest: ReadYourWrites<PersistentVolume>;
  /** By name, the claims that passed over it meanwhile. */
  readonly #held = new Map<string, Set<string>>();

  constructor(informer: Informer<PersistentVolume>, latest: ReadYourWrites<PersistentVolume>) {
    this.#informer = informer;
    this.#latest = latest;
    informer.addIndex(BY_CLAIM, claimKeys);
    informer.addIndex(FREE_BY_CLASS, freeInClass);
  }

  /** Volumes whose `claimRef` names this claim, with whatever UID. */
  naming(claimKey: string): readonly PersistentVolume[] {
    return this.#informer.byIndex(BY_CLAIM, claimKey);
  }

  /**
   * A volume that was provisioned or reserved for the claim always qualifies. Of the free ones, only those that the
   * node can reach; with delayed binding and no node yet, none.
   */
  match(
    claim: PersistentVolumeClaim,
    { node, delayed }: { node: Node | undefined; delayed: boolean },
  ): PersistentVolume | undefined {
    const key = keyOf(claim);
    const own = matchVolume(claim, this.#current(this.naming(key), key));
    if (own !== undefined || (delayed && node === undefined)) return own;
    const free = this.#current(this.#informer.byIndex(FREE_BY_CLASS, storageClassOf(claim) ?? ''), key);
    return matchVolume(claim, free, node);
  }

  /**
   * Keeps a volume from being matched until the returned function is called. That returns the claims that passed over the
   * volume: no event wakes them if it turns out to be free.
   */
  hold(volume: PersistentVolume): () => ReadonlySet<string> {
    const { name } = volume.metadata;
    const passedOver = this.#held.get(name) ?? new Set();
    this.#held.set(name, passedOver);
    return () => {
      this.#held.delete(name);
      return passedOver;
    };
  }

  *#current(volumes: readonly PersistentVolume[], claimKey: string): Iterable<PersistentVolume> {
    for (const { metadata } of volumes) {
      const passedOver = this.#held.get(metadata.name);
      passedOver?.add(claimKey);
      const volume = passedOver ? undefined : this.#latest.get(metadata.name);
      if (volume !== undefined) yield volume;
    }
  }
}
