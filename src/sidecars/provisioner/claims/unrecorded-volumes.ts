// The requests of this process that may have left a volume which nothing records yet, word for word as the driver saw
// them. The intent on the claim is what survives a crash; this is what helps while there was none: a request can be
// repeated exactly although its class, its Secret or even its claim is gone meanwhile.

import type { CsiSecrets } from '../../../csi/credentials.ts';
import type { SecretlessRequest } from '../planning/create-volume-request.ts';
import type { VolumePlan } from '../planning/plan-volume.ts';

export interface UnrecordedVolume {
  claimUid: string;
  plan: VolumePlan;
  request: SecretlessRequest;
  secrets: CsiSecrets | undefined;
}

export class UnrecordedVolumes {
  readonly #byKey = new Map<string, UnrecordedVolume>();

  /** By the claim's key; of another incarnation of the claim, too. */
  get(key: string): UnrecordedVolume | undefined {
    return this.#byKey.get(key);
  }

  of(key: string, claimUid: string): UnrecordedVolume | undefined {
    const found = this.#byKey.get(key);
    return found?.claimUid === claimUid ? found : undefined;
  }

  set(key: string, volume: UnrecordedVolume): void {
    this.#byKey.set(key, volume);
  }

  delete(key: string, claimUid: string): void {
    if (this.#byKey.get(key)?.claimUid === claimUid) this.#byKey.delete(key);
  }
}
