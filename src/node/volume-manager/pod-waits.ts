// Why each volume of a pod is not ready, as text for the pod's conditions. Set by populator and reconciler. Texts hold no
// secrets.

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
