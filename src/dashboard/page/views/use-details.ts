// The details of the object that the route names, requested again when live messages show a change.

import { useEffect, useRef, useState } from 'preact/hooks';
import { type DetailsLoader, type DetailsState, loadDetails, noDetails } from '../model/details-loader.ts';
import type { Subject } from '../model/routes.ts';

/** `changes`: a new object means that the details may have changed. Use one instance per object. */
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
