// What this process knows of its attempts to create volumes: one entry per claim, by UID. The intent, in the ledger or
// on the claim, survives a crash; this does not.
//
//   (unknown) ──▶ asking ──▶ recorded ──▶ (unknown)      the PersistentVolume is written, and the cache shows it
//                  │  ▲          │
//                  │  └──────────┘                       it could not be written
//                  ▼
//             nothing-left ──▶ (unknown)                 the intent is dropped
//
// Together with the cache it shows which volumes have a PersistentVolume, so that two claims never get one volume, and
// a slow watch does not cause provisioning twice.

import { type PersistentVolume, persistentVolumes } from '../../../api/kinds.ts';
import { type VolumeHandle, volumeNamesOf } from '../../../csi/names/driver-name.ts';
import type { CsiSecrets } from '../../../csi/secrets/credentials.ts';
import type { Informer } from '../../../runtime/informer/informer.ts';
import type { Clock } from '../../../runtime/ports.ts';
import type { Intent } from '../intents/intent.ts';
import type { VolumePlan } from '../planning/plan-volume.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import type { VolumesByHandle } from '../volumes/volume-use.ts';
import type { SecretlessRequest } from './volume-calls.ts';

/** A request exactly as the driver saw it: it can be repeated when class, Secret or claim are gone. */
export interface AskedRequest {
  plan: VolumePlan;
  request: SecretlessRequest;
  secrets: CsiSecrets | undefined;
}

export interface Asked extends AskedRequest {
  intent: Intent;
  /** Different ones before it whose outcome is open, too. */
  others?: readonly AskedRequest[];
}

export type Attempt =
  /** A call is in flight or had an uncertain outcome. `asked` is the last request, if this process sent it. */
  | { is: 'asking'; asked: Asked | undefined }
  /** Everything that the driver created has a PersistentVolume, or it is being written. */
  | { is: 'recorded'; volumeName: string; handle: VolumeHandle | undefined; onClaim: boolean }
  /**
   * The driver has nothing for this claim: only the intent has to be dropped. `hadIntent`: there was one. Otherwise an intent
   * that is found later is that of another replica, which may have made a volume.
   */
  | { is: 'nothing-left'; reschedule: boolean; hadIntent: boolean };

/** A PersistentVolume that the cache does not show within this time was deleted before. */
export const FORGET_AFTER_MS = 60_000;

type AttemptsContext = Pick<ProvisionerContext, 'informers' | 'byHandle' | 'driver' | 'clock'>;

export class Attempts {
  readonly #volumes: Informer<PersistentVolume>;
  readonly #byHandle: VolumesByHandle;
  readonly #clock: Clock;
  readonly #onClosed: (intent: Intent) => void;
  readonly #byUid = new Map<string, Attempt>();
  /** Recorded and not in the cache yet, by handle, the oldest first. */
  readonly #unseen = new Map<VolumeHandle, { uid: string; volumeName: string; forgetAtMs: number }>();

  /** `onClosed` is called when an intent is no longer in `openIntents`, unless that was to be forgotten. */
  constructor(
    { informers, byHandle, driver, clock }: AttemptsContext,
    onClosed: (intent: Intent) => void = () => {},
  ) {
    this.#onClosed = onClosed;
    this.#volumes = informers.of(persistentVolumes);
    this.#byHandle = byHandle;
    this.#clock = clock;
    const seen = ({ spec: { csi } }: PersistentVolume): void => {
      if (csi?.driver === driver.name) this.#seen(volumeNamesOf(csi).volumeHandle);
    };
    this.#volumes.subscribe({ added: seen, deleted: seen });
  }

  of(uid: string): Attempt | undefined {
    return this.#byUid.get(uid);
  }

  set(uid: string, attempt: Attempt): void {
    const before = this.#remove(uid);
    this.#put(uid, attempt);
    if (attempt.is !== 'asking' || !attempt.asked) this.#closed(before);
  }

  delete(uid: string): void {
    this.#closed(this.#remove(uid));
  }

  #put(uid: string, attempt: Attempt): void {
    const isSeen = attempt.is === 'recorded' && this.#volumes.get(attempt.volumeName) !== undefined;
    if (isSeen && !attempt.onClaim) return;
    this.#byUid.set(uid, attempt);
    if (attempt.is !== 'recorded' || isSeen || !attempt.handle) return;
    const nowMs = this.#clock.monotonicMs();
    for (const [handle, { forgetAtMs }] of this.#unseen) {
      if (forgetAtMs >= nowMs) break;
      this.#seen(handle);
    }
    const { volumeName, handle } = attempt;
    this.#unseen.set(handle, { uid, volumeName, forgetAtMs: nowMs + FORGET_AFTER_MS });
  }

  #remove(uid: string): Attempt | undefined {
    const before = this.#byUid.get(uid);
    if (before?.is === 'recorded' && before.handle) this.#unseen.delete(before.handle);
    this.#byUid.delete(uid);
    return before;
  }

  #closed(attempt: Attempt | undefined): void {
    if (attempt?.is === 'asking' && attempt.asked) this.#onClosed(attempt.asked.intent);
  }

  /** Of calls in flight or with an uncertain outcome that this process sent. */
  *openIntents(): Generator<Intent> {
    for (const attempt of this.#byUid.values())
      if (attempt.is === 'asking' && attempt.asked) yield attempt.asked.intent;
  }

  /** Forgets what it knows of these claims. */
  forget(isStale: (uid: string) => boolean): void {
    for (const uid of [...this.#byUid.keys()]) if (isStale(uid)) this.#remove(uid);
  }

  /** The claim that the PersistentVolume of this name belongs to; undefined when there is none. */
  claimUidOf(volumeName: string, uid: string): string | undefined {
    const cached = this.#volumes.get(volumeName);
    if (cached) return cached.spec.claimRef?.uid ?? '';
    const attempt = this.#byUid.get(uid);
    return attempt?.is === 'recorded' && this.#isUnseen(attempt.handle) ? uid : undefined;
  }

  /** The PersistentVolume, other than `volumeName`, that has this volume. */
  ownerOf(handle: VolumeHandle, volumeName: string): string | undefined {
    const cached = this.#byHandle(handle).find((each) => each.metadata.name !== volumeName);
    if (cached) return cached.metadata.name;
    const unseen = this.#isUnseen(handle) ? this.#unseen.get(handle) : undefined;
    return unseen?.volumeName === volumeName ? undefined : unseen?.volumeName;
  }

  #isUnseen(handle: VolumeHandle | undefined): boolean {
    const unseen = handle === undefined ? undefined : this.#unseen.get(handle);
    return unseen !== undefined && unseen.forgetAtMs >= this.#clock.monotonicMs();
  }

  #seen(handle: VolumeHandle): void {
    const uid = this.#unseen.get(handle)?.uid;
    this.#unseen.delete(handle);
    const attempt = uid === undefined ? undefined : this.#byUid.get(uid);
    // While the intent is on the claim, the entry must stay.
    if (uid !== undefined && attempt?.is === 'recorded' && !attempt.onClaim) this.#byUid.delete(uid);
  }
}
