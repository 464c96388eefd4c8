// Why a pod's volumes are not ready, in words: one text for each volume that is waited for. Kept by those who know,
// read by the pod's status. No secrets: the texts end up in conditions and events.

export class PodWaits {
  readonly #byPod = new Map<string, Map<string, string>>();
  readonly #changed: (podUid: string) => void;

  constructor(changed: (podUid: string) => void) {
    this.#changed = changed;
  }

  set(podUid: string, volumeNames: readonly string[], why: string): void {
    const waits = this.#byPod.get(podUid) ?? new Map<string, string>();
    this.#byPod.set(podUid, waits);
    let changed = false;
    for (const name of volumeNames) {
      changed ||= waits.get(name) !== why;
      waits.set(name, why);
    }
    if (changed) this.#changed(podUid);
  }

  clear(podUid: string, volumeNames: readonly string[]): void {
    const waits = this.#byPod.get(podUid);
    if (!waits) return;
    const removed = volumeNames.filter((name) => waits.delete(name));
    if (waits.size === 0) this.#byPod.delete(podUid);
    if (removed.length > 0) this.#changed(podUid);
  }

  forget(podUid: string): void {
    this.#byPod.delete(podUid);
  }

  of(podUid: string): ReadonlyMap<string, string> {
    return this.#byPod.get(podUid) ?? new Map();
  }
}
