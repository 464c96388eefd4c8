// Keeps claims from being deleted while snapshots of their volumes are taken: a finalizer, added before the content is
// created and removed once no snapshot of the claim is unready. Owns that finalizer and no other field of the claim.

import { groupOwnerOf } from '../../api/group-snapshots.ts';
import { type PersistentVolumeClaim, persistentVolumeClaims, type VolumeSnapshot } from '../../api/kinds.ts';
import { keyOf, nameFromKey } from '../../api/object.ts';
import { isNewer } from '../../api/resource-version.ts';
import { isReadyToUse } from '../../api/snapshots.ts';
import { FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE } from '../../api/well-known.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isConflict } from '../../runtime/kube/kube-error.ts';
import { SharedFinalizer } from '../../runtime/kube/shared-finalizer.ts';
import { done, type Reconcile } from '../../runtime/queue/loop.ts';

const UNREADY_BY_CLAIM = 'snapshot-controller/unready-by-claim';

/** `namespace/name` of the claim that a snapshot is taken of; undefined for a pre-provisioned one. */
export function sourceClaimOf({ metadata, spec }: VolumeSnapshot): string | undefined {
  const name = spec.source.persistentVolumeClaimName;
  return name === undefined ? undefined : `${metadata.namespace}/${name}`;
}

export class SourceClaims {
  readonly #kube: KubeClient;
  readonly #claims: ReadYourWrites<PersistentVolumeClaim>;
  readonly #snapshots: Informer<VolumeSnapshot>;
  readonly #finalizer: SharedFinalizer<PersistentVolumeClaim>;
  #isNeededByOthers: (claim: PersistentVolumeClaim) => boolean = () => false;
  /** Claims whose removal has an unknown outcome: the cache may show a finalizer that is already removed. */
  readonly #doubtful = new Set<string>();

  constructor(
    kube: KubeClient,
    { claims, snapshots }: { claims: Informer<PersistentVolumeClaim>; snapshots: Informer<VolumeSnapshot> },
  ) {
    this.#kube = kube;
    this.#claims = new ReadYourWrites(claims);
    this.#finalizer = new SharedFinalizer({
      kube,
      resource: persistentVolumeClaims,
      finalizer: FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE,
      objects: this.#claims,
    });
    this.#snapshots = snapshots;
    snapshots.addIndex(UNREADY_BY_CLAIM, (snapshot) => {
      // A member of a group snapshot exists after that was cut; until it is ready, the group snapshot keeps the claim.
      const isCut = isReadyToUse(snapshot) || groupOwnerOf(snapshot) !== undefined;
      const key = isCut ? undefined : sourceClaimOf(snapshot);
      return key === undefined ? [] : [key];
    });
  }

  /** Who, beside single snapshots, needs the finalizer. */
  keepFor(isNeeded: (claim: PersistentVolumeClaim) => boolean): void {
    this.#isNeededByOthers = isNeeded;
  }

  /** Snapshots of the claim that are not ready yet. */
  unreadyOf(claimKey: string): readonly VolumeSnapshot[] {
    return this.#snapshots.byIndex(UNREADY_BY_CLAIM, claimKey);
  }

  /** The claim as last seen or written, once no write of this process is in flight. */
  async read(claimKey: string, signal: AbortSignal): Promise<PersistentVolumeClaim | undefined> {
    return (await this.#read(claimKey, signal)).claim;
  }

  /** The claim as the server listed it, or as it is known since; undefined when the server has it no more. */
  async latest(
    listed: PersistentVolumeClaim,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim | undefined> {
    const { claim, isCertain } = await this.#read(keyOf(listed), signal);
    // The cache may only be behind.
    if (claim === undefined) return isCertain ? undefined : listed;
    return isNewer(claim.metadata.resourceVersion, listed.metadata.resourceVersion, 'older') ? claim : listed;
  }

  /** `isCertain`: the server was asked, because the cache may show a finalizer that is removed. */
  async #read(
    claimKey: string,
    signal: AbortSignal,
  ): Promise<{ claim: PersistentVolumeClaim | undefined; isCertain: boolean }> {
    await this.#finalizer.settled(claimKey);
    if (!this.#doubtful.has(claimKey)) return { claim: this.#claims.get(claimKey), isCertain: false };
    const asked = this.#kube.get(persistentVolumeClaims, nameFromKey(claimKey), { signal });
    return { claim: await ifThere(asked), isCertain: true };
  }

  async protect(object: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
    await this.#finalizer.renew(object, { signal });
  }

  /** Protected, and no removal that an earlier process sent takes effect any more. */
  isHeld(claim: PersistentVolumeClaim): boolean {
    return this.isProtected(claim) && this.#finalizer.isHeld(claim);
  }

  /** Another replica may have removed finalizers that this one wrote. */
  forgetHeld(): void {
    this.#finalizer.forgetHeld();
  }

  gone(claim: PersistentVolumeClaim): void {
    this.#finalizer.gone(claim);
  }

  isProtected(claim: PersistentVolumeClaim): boolean {
    return this.#finalizer.isOn(claim);
  }

  readonly reconcile: Reconcile = async (key, { signal }) => {
    await this.release(key, signal);
    return done;
  };

  /** Removes the finalizer of one claim when no snapshot needs it. */
  async release(key: string, signal: AbortSignal): Promise<void> {
    const object = this.#claims.get(key);
    if (object === undefined || !this.isProtected(object)) return;
    if (this.unreadyOf(key).length > 0 || this.#isNeededByOthers(object)) return;
    try {
      await this.#finalizer.release(object, signal);
      this.#doubtful.delete(key);
    } catch (error) {
      if (!isConflict(error)) this.#doubtful.add(key);
      throw error;
    }
  }
}
