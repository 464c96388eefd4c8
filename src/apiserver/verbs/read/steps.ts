// Reads in steps, so that long ones can yield to other clients; see http/fair-queue.ts.

/** Objects examined in one step. */
export const STEP = 128;

/** Runs all steps at once. */
export function finish<T>(steps: Generator<void, T, void>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
