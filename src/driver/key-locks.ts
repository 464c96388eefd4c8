// In-process locks by key. `tryLock` fails at once when a key is held; `lock` waits, first come first served.

export interface KeyLocks {
  /** Locks all keys and returns their release, or the first key that is already held. */
  tryLock(keys: readonly string[]): { readonly busy: string } | { readonly release: () => void };
  /** Waits until the key is free; rejects with the signal's reason when it aborts. */
  lock(key: string, signal?: AbortSignal): Promise<() => void>;
}

export function keyLocks(): KeyLocks {
  // Held key to its waiters, first come first served.
  const held = new Map<string, (() => void)[]>();

  const release = (key: string): void => {
    const next = held.get(key)?.shift();
    if (next === undefined) held.delete(key);
    else next();
  };

  const once = (work: () => void) => {
    let done = false;
    return () => {
      if (done) return;
      done = true;
      work();
    };
  };

  return {
    tryLock(keys) {
      const busy = keys.find((key) => held.has(key));
      if (busy !== undefined) return { busy };
      for (const key of keys) held.set(key, []);
      return {
        release: once(() => {
          for (const key of keys) release(key);
        }),
      };
    },

    async lock(key, signal) {
      signal?.throwIfAborted();
      const waiters = held.get(key);
      if (waiters === undefined) {
        held.set(key, []);
      } else {
        await new Promise<void>((resolve, reject) => {
          const proceed = () => {
            signal?.removeEventListener('abort', abort);
            resolve();
          };
          const abort = () => {
            waiters.splice(waiters.indexOf(proceed), 1);
            reject(signal?.reason);
          };
          waiters.push(proceed);
          signal?.addEventListener('abort', abort, { once: true });
        });
      }
      return once(() => release(key));
    },
  };
}
