// One call at a time per volume, as CSI requires of the caller, without blocking a worker: a key that finds its volume
// busy is enqueued again when the volume is free.

import type { VolumeHandle } from '../../csi/names/driver-name.ts';

export class VolumeTurns {
  /** Busy volumes, with the keys that wait for each, in order of arrival. */
  readonly #waiting = new Map<string, Set<string>>();
  readonly #wake: (key: string) => void;

  constructor(wake: (key: string) => void) {
    this.#wake = wake;
  }

  /** True: the volume is locked until `leave`. False: `key` is enqueued again when the volume is free. */
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
    // Wakes all of them: the first may have nothing to do any more, and would then wake no other.
    for (const key of waiting) this.#wake(key);
  }
}
