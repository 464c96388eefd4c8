// Reads in steps, so that long ones can let others go first; see http/fair-queue.ts.

/** Objects that are looked at in one step. */
export const STEP = 128;

/** All steps at once. */
export function finish<T>(steps: Generator<void, T, void>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
