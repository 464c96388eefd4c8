// The resizer's reads of claims and its writes to their status. All parts of the resizer use it, so that each sees the
// others' writes at once.

import { type PersistentVolumeClaim, persistentVolumeClaims } from '../../api/kinds.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isConflict, isNotFound, KubeError } from '../../runtime/kube/kube-error.ts';

/** The user, the binder and a node write the same object; after this many conflicts the claim is retried later. */
const MOST_ATTEMPTS = 5;

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
   * For a claim that already has what would be written: reads it, and throws a conflict as `write` does. A write of
   * this or another resizer whose response was lost may have changed it, and the cache does not show that yet.
   */
  async confirm(
    { metadata: { name, namespace = '', resourceVersion } }: PersistentVolumeClaim,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim> {
    const current = this.#claims.wrote(
      await this.#kube.get(persistentVolumeClaims, { name, namespace }, { signal }),
    );
    if (current.metadata.resourceVersion === resourceVersion) return current;
    const message = `PersistentVolumeClaim ${namespace}/${name} has changed; deciding again what to do`;
    throw new KubeError({ reason: 'Conflict', code: 409, message });
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
