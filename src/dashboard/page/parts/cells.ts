// Cells that several tables share.

import { type ComponentChildren, h } from 'preact';
import { detailsRoute, formatRoute, type Route, type Subject } from '../model/routes.ts';

export interface Item {
  readonly text: string;
  readonly route?: Route;
}

/** The first of several and the number of the others; all of them in the tooltip. */
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

/** A name from the cluster. Truncated where it does not fit; the tooltip has all of it. */
export function Name({ text, route }: Item): ComponentChildren {
  if (route === undefined) return h('span', { class: 'name', title: text }, text);
  return h('a', { class: 'name', title: text, href: formatRoute(route) }, text);
}

/** The name of an object without a namespace that has a page; a dash where there is none. */
export function Linked({
  kind,
  name,
}: {
  kind: Subject['kind'];
  name: string | undefined;
}): ComponentChildren {
  if (name === undefined) return h('span', { class: 'dim' }, '–');
  return h(Name, { text: name, route: detailsRoute({ kind, name }) });
}

export const yesOrNo = (is: boolean): string => (is ? 'yes' : 'no');

export const distinct = (texts: readonly string[]): string[] => [...new Set(texts)];
