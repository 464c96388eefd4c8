// Cells that several tables share.

import { type ComponentChildren, h } from 'preact';
import { formatRoute, type Route } from '../model/routes.ts';

export interface Item {
  readonly text: string;
  readonly route?: Route;
}

/** The first of several, and how many more; all of them where somebody points. */
export function Several({ items }: { items: readonly Item[] }): ComponentChildren {
  const [first, ...more] = items;
  if (first === undefined) return h('span', { class: 'dim' }, '–');
  return h(
    'span',
    { class: 'several', title: items.map(({ text }) => text).join('\n') },
    h(Name, first),
    more.length > 0 ? h('span', { class: 'dim' }, ` +${more.length}`) : null,
  );
}

/** What the cluster calls something. Cut off where it has no room, so that it can be read where somebody points. */
export function Name({ text, route }: Item): ComponentChildren {
  if (route === undefined) return h('span', { class: 'name', title: text }, text);
  return h('a', { class: 'name', title: text, href: formatRoute(route) }, text);
}

export const yesOrNo = (is: boolean): string => (is ? 'yes' : 'no');

export const distinct = (texts: readonly string[]): string[] => [...new Set(texts)];
