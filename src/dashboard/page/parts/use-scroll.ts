// The scroll position of a table in rows, restored when the user returns to it.

import { createContext, type RefObject } from 'preact';
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** The last position of each table, by its name. */
export const Scrolls = createContext<Map<string, number>>(new Map());

export interface Scroll {
  readonly ref: RefObject<HTMLDivElement | null>;
  /** The first visible row. */
  readonly top: number;
  /** Number of rows that fit. */
  readonly inSight: number;
  /** Of the visible part. */
  readonly widthPx: number;
}

/** Before measuring: more than a common screen shows. */
const UNMEASURED_ROWS = 40;

/** `order`: when it changes, the table scrolls to its start. */
export function useScroll(name: string, rowHeightPx: number, order: string): Scroll {
  const scrolls = useContext(Scrolls);
  const ref = useRef<HTMLDivElement>(null);
  // In whole rows, so that scrolling within one row renders nothing.
  const [top, setTop] = useState(() => Math.floor((scrolls.get(name) ?? 0) / rowHeightPx));
  const [inSight, setInSight] = useState(UNMEASURED_ROWS);
  const [widthPx, setWidth] = useState(() => document.documentElement.clientWidth);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    element.scrollTop = scrolls.get(name) ?? 0;
    const onScroll = (): void => {
      scrolls.set(name, element.scrollTop);
      setTop(Math.floor(element.scrollTop / rowHeightPx));
    };
    const measure = (): void => {
      setInSight(Math.ceil(element.clientHeight / rowHeightPx));
      setWidth(element.clientWidth);
    };
    const observer = new ResizeObserver(measure);
    measure();
    element.addEventListener('scroll', onScroll, { passive: true });
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', onScroll);
      observer.disconnect();
    };
  }, [name]);
  const shownOrder = useRef(order);
  useLayoutEffect(() => {
    if (shownOrder.current !== order) ref.current?.scrollTo(0, 0);
    shownOrder.current = order;
  }, [order]);
  return { ref, top, inSight, widthPx };
}
