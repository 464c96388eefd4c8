// The resizer's reads of claims and its writes to their status. All parts of the resizer use it, so that each sees the
// others' writes at once.

import { type PersistentVolumeClaim, persistentVolumeClaims } from '../../api/kinds.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import { requeueAfter } from '../../runtime/queue/loop.ts';

/** The user, the binder and a node write the same object; after this many conflicts the claim is retried later. */
const MOST_ATTEMPTS = 5;

/** A claim is looked at again when `begin` changed nothing. */
export const tooSoon = requeueAfter(1_000, 'the driver was called less than a second ago');

export class ClaimWriter {
  readonly #kube: KubeClient;
  readonly #claims: ReadYourWrites<PersistentVolumeClaim>;

  constructor(kube: KubeClient, claims: Informer<PersistentVolumeClaim>) {
    this.#kube = kube;
    this.#claims = new ReadYourWrites(claims);
  }

  get(key: string): PersistentVolumeClaim | undefined {
    return this.#claims.get(key);
  }

  /** For a write decided from this version of the claim: throws a conflict when it is no longer the newest. */
  async write(
    { metadata: { name, namespace = '' } }: PersistentVolumeClaim,
    patch: object,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim> {
    const options = { type: 'merge', subresource: 'status', signal } as const;
    return this.#claims.wrote(
      await this.#kube.patch(persistentVolumeClaims, { name, namespace }, patch, options),
    );
  }

  /**
   * The write before a call to the driver. It makes a new version, so that late results of earlier calls, by this or
   * another resizer, conflict: they were decided from the version before. Undefined when it changed nothing: the last call
   * is less than a second old, which is as exactly as a status tells the time. The driver must not be called then.
   * After a conflict the claim is read, because the cache may be behind for long.
   */
  async begin(
    claim: PersistentVolumeClaim,
    patch: object,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim | undefined> {
    const { name, namespace = '', resourceVersion } = claim.metadata;
    try {
      const begun = await this.write(claim, patch, signal);
      return begun.metadata.resourceVersion === resourceVersion ? undefined : begun;
    } catch (error) {
      if (isConflict(error))
        this.#claims.wrote(await this.#kube.get(persistentVolumeClaims, { name, namespace }, { signal }));
      throw error;
    }
  }

  /**
   * For a write that is right whatever else changes on the claim. Undefined when the claim with this UID is gone, or
   * when there is nothing left to write.
   */
  async report(
    claim: PersistentVolumeClaim,
    patchFor: (claim: PersistentVolumeClaim) => object | undefined,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim | undefined> {
    const { name, namespace = '', uid } = claim.metadata;
    let current = claim;
    for (let attempt = 1; ; attempt++) {
      const patch = patchFor(current);
      if (patch === undefined) return undefined;
      try {
        return await this.write(current, patch, signal);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (!isConflict(error) || attempt >= MOST_ATTEMPTS) throw error;
      }
      try {
        current = await this.#kube.get(persistentVolumeClaims, { name, namespace }, { signal });
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
      if (current.metadata.uid !== uid) return undefined;
    }
  }
}
