// Samples of everything that was recorded, requested while they are shown.

import { useEffect, useState } from 'preact/hooks';
import type { Sample } from '../../page-messages.ts';

/** They cover a long time: newer ones change little. */
const REFRESH_MS = 10_000;

/** Undefined until they are there. The last ones stay when a request fails: the header says that the connection is lost. */
export function useHistory(isShown: boolean): readonly Sample[] | undefined {
  const [samples, setSamples] = useState<readonly Sample[] | undefined>(undefined);
  useEffect(() => {
    if (!isShown) return undefined;
    const stop = new AbortController();
    const load = async (): Promise<void> => {
      try {
        const response = await fetch('/api/history', { signal: stop.signal });
        if (response.ok) setSamples((await response.json()) as readonly Sample[]);
      } catch {
        // As above.
      }
    };
    void load();
    const timer = setInterval(() => void load(), REFRESH_MS);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [isShown]);
  return samples;
}
