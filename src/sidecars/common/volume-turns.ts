// One call at a time per volume, as the specification asks of its caller, without holding up a worker: who finds the
// volume busy is told to come again when it is free.

import type { VolumeHandle } from '../../csi/names/driver-name.ts';

export class VolumeTurns {
  /** Busy volumes, with the keys that wait for them, first come first. */
  readonly #waiting = new Map<string, Set<string>>();
  readonly #wake: (key: string) => void;

  constructor(wake: (key: string) => void) {
    this.#wake = wake;
  }

  /** True: the volume is yours until `leave`. False: `key` is woken when its turn comes. */
  tryEnter(handle: VolumeHandle, key: string): boolean {
    const waiting = this.#waiting.get(handle);
    if (waiting === undefined) {
      this.#waiting.set(handle, new Set());
      return true;
    }
    waiting.add(key);
    return false;
  }

  leave(handle: VolumeHandle): void {
    const waiting = this.#waiting.get(handle) ?? new Set();
    this.#waiting.delete(handle);
    // All of them: the first may have nothing to do any more, and would then never pass the turn on.
    for (const key of waiting) this.#wake(key);
  }
}
