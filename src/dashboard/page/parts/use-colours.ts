// The style sheet's colours, for what is drawn on a canvas; updated when the colour scheme changes.

import { useEffect, useState } from 'preact/hooks';

/** A number that changes with the scheme. */
export function useColourScheme(): number {
  const [scheme, setScheme] = useState(0);
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const onChange = (): void => setScheme((before) => before + 1);
    dark.addEventListener('change', onChange);
    return () => dark.removeEventListener('change', onChange);
  }, []);
  return scheme;
}

/** A custom property's value. */
export function colourOf(element: Element, name: string): string {
  return getComputedStyle(element).getPropertyValue(name).trim();
}
