// The details of what the address names, asked for again as often as the live messages say that they changed.

import { useEffect, useRef, useState } from 'preact/hooks';
import { type DetailsLoader, type DetailsState, loadDetails, noDetails } from '../model/details-loader.ts';
import type { Subject } from '../model/routes.ts';

/** `changes`: what, when it is another object, means that there may be news. Mount one a subject. */
export function useDetails(
  subject: Subject,
  changes: readonly unknown[],
): { state: DetailsState; refresh: () => void } {
  const [state, setState] = useState(noDetails);
  const loader = useRef<DetailsLoader | null>(null);
  useEffect(() => {
    const opened = loadDetails({ subject, fetch: (path) => fetch(path), onState: setState });
    loader.current = opened;
    return () => opened.stop();
  }, []);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) loader.current?.refresh();
    isFirst.current = false;
  }, changes);
  return { state, refresh: () => loader.current?.refresh() };
}
