// The requests of this process that may have left a volume which nothing records yet, word for word as the driver saw
// them. The intent, in the ledger or on the claim, is what survives a crash; this is what helps while there was none: a
// request can be repeated exactly although its class, its Secret or even its claim is gone meanwhile.

import type { CsiSecrets } from '../../../csi/secrets/credentials.ts';
import type { SecretlessRequest } from '../planning/create-volume-request.ts';
import type { VolumePlan } from '../planning/plan-volume.ts';

export interface UnrecordedVolume {
  claimUid: string;
  plan: VolumePlan;
  request: SecretlessRequest;
  secrets: CsiSecrets | undefined;
}

export class UnrecordedVolumes {
  /** By the claim's key, then by its UID: a claim may be made anew while that of the last one is uncertain. */
  readonly #byKey = new Map<string, Map<string, UnrecordedVolume>>();

  of(key: string, claimUid: string): UnrecordedVolume | undefined {
    return this.#byKey.get(key)?.get(claimUid);
  }

  /** Those of earlier claims of this name; `claimUid` is the one that there is now. */
  orphansOf(key: string, claimUid: string | undefined): UnrecordedVolume[] {
    return [...(this.#byKey.get(key)?.values() ?? [])].filter((each) => each.claimUid !== claimUid);
  }

  set(key: string, volume: UnrecordedVolume): void {
    const ofKey = this.#byKey.get(key) ?? new Map<string, UnrecordedVolume>();
    this.#byKey.set(key, ofKey.set(volume.claimUid, volume));
  }

  delete(key: string, claimUid: string): void {
    const ofKey = this.#byKey.get(key);
    ofKey?.delete(claimUid);
    if (ofKey?.size === 0) this.#byKey.delete(key);
  }
}
