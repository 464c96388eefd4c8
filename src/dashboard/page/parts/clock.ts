// The server's time, ticking: components that show an age subscribe to it, so that only they are rendered again.

import { type ComponentChildren, createContext, h } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { formatAge } from '../model/durations.ts';

const Clock = createContext(0);

const TICK_MS = 1_000;

/** `offsetMs`: the server's clock minus this one. */
export function ClockProvider(props: { offsetMs: number; children?: ComponentChildren }): ComponentChildren {
  const [ownMs, setOwnMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setOwnMs(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return h(Clock.Provider, { value: ownMs + props.offsetMs }, props.children);
}

/** Rounded to seconds; by the server's clock. */
export const useNow = (): number => useContext(Clock);

export function Age({ sinceMs }: { sinceMs: number }): ComponentChildren {
  const nowMs = useNow();
  const since = new Date(sinceMs);
  return h(
    'time',
    { dateTime: since.toISOString(), title: since.toLocaleString() },
    formatAge(nowMs - sinceMs),
  );
}
