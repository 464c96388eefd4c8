// Several parts that run side by side in one process and stop together.

/** Works until `signal` aborts, then lets what is under way end. */
export interface Runnable {
  run(signal: AbortSignal): Promise<void>;
}

/** Ends when all parts have ended. The first failure stops the others, and is the error it rejects with. */
export function together(parts: readonly Runnable[]): Runnable {
  return {
    async run(signal) {
      const stop = new AbortController();
      const either = AbortSignal.any([signal, stop.signal]);
      let failure: { error: unknown } | undefined;
      await Promise.all(
        parts.map(async (part) => {
          try {
            await part.run(either);
          } catch (error) {
            if (!either.aborted) failure = { error };
            stop.abort(error);
          }
        }),
      );
      if (failure !== undefined) throw failure.error;
      signal.throwIfAborted();
    },
  };
}
