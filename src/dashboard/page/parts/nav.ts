// The navigation between the lists.

import { type ComponentChildren, h } from 'preact';
import type { KeyedTables } from '../model/model.ts';
import { formatRoute, type ListView, listRoute, listViews } from '../model/routes.ts';

const titles: Readonly<Record<ListView, string>> = {
  volumes: 'Volumes',
  pods: 'Pods',
  nodes: 'Nodes',
  drivers: 'Drivers',
  snapshots: 'Snapshots',
  activity: 'Activity',
};

export const titleOfList = (list: ListView): string => titles[list];

export interface NavProps {
  readonly tables: KeyedTables;
  /** Absent where the page shows one object. */
  readonly current: ListView | undefined;
}

export function Nav({ tables, current }: NavProps): ComponentChildren {
  return h(
    'nav',
    { 'aria-label': 'Views' },
    listViews.map((list) =>
      h(
        'a',
        {
          key: list,
          href: formatRoute(listRoute(list)),
          ...(list === current ? { 'aria-current': 'page' as const } : {}),
        },
        titles[list],
        list === 'activity' ? null : h('span', { class: 'dim' }, ` ${tables[list].size}`),
      ),
    ),
  );
}
