// The binder's reads and writes of claims and volumes. Reads are from the caches, overlaid with the binder's own writes.
// Every write carries the resourceVersion it was decided from, so a decision from a stale cache fails with a conflict.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../api/kinds.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';

export class BinderObjects {
  readonly claims: ReadYourWrites<PersistentVolumeClaim>;
  readonly volumes: ReadYourWrites<PersistentVolume>;
  readonly #kube: KubeClient;

  constructor(
    kube: KubeClient,
    informers: { claims: Informer<PersistentVolumeClaim>; volumes: Informer<PersistentVolume> },
  ) {
    this.#kube = kube;
    this.claims = new ReadYourWrites(informers.claims);
    this.volumes = new ReadYourWrites(informers.volumes);
  }

  async writeClaim(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<PersistentVolumeClaim> {
    return this.claims.wrote(await this.#kube.update(persistentVolumeClaims, claim, { signal }));
  }

  async writeClaimStatus(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<PersistentVolumeClaim> {
    const options = { subresource: 'status', signal };
    return this.claims.wrote(await this.#kube.update(persistentVolumeClaims, claim, options));
  }

  async writeVolume(volume: PersistentVolume, signal: AbortSignal): Promise<PersistentVolume> {
    return this.volumes.wrote(await this.#kube.update(persistentVolumes, volume, { signal }));
  }

  async setVolumePhase(
    volume: PersistentVolume,
    next: { phase: string; message?: string },
    signal: AbortSignal,
  ): Promise<void> {
    if (volume.status?.phase === next.phase) return;
    // The message explained the previous phase.
    const { message: _message, reason: _reason, ...rest } = volume.status ?? {};
    const updated = { ...volume, status: { ...rest, ...next } };
    this.volumes.wrote(
      await this.#kube.update(persistentVolumes, updated, { subresource: 'status', signal }),
    );
  }

  /** False when the cache has no claim of the name that the volume refers to. */
  mayHaveClaim({ spec: { claimRef } }: PersistentVolume): boolean {
    return this.claims.get(`${claimRef?.namespace}/${claimRef?.name}`) !== undefined || !claimRef?.uid;
  }

  /**
   * The claim that a volume names by UID. It counts as deleted only when the server says so: the cache may not have
   * seen it yet, or may still show an earlier claim of that name.
   */
  async claimOf(volume: PersistentVolume, signal: AbortSignal): Promise<PersistentVolumeClaim | 'gone'> {
    const { claimRef } = volume.spec;
    if (!claimRef?.uid || !claimRef.name || !claimRef.namespace) return 'gone';
    const { name, namespace, uid } = claimRef;
    const cached = this.claims.get(`${namespace}/${name}`);
    if (cached?.metadata.uid === uid) return cached;
    const live = await ifThere(this.#kube.get(persistentVolumeClaims, { name, namespace }, { signal }));
    return live?.metadata.uid === uid ? live : 'gone';
  }
}
