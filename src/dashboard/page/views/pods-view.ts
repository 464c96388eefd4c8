// Pods that use volumes.

import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { PodRow } from '../../page-messages.ts';
import { detailsRoute, routeOfPod } from '../model/routes.ts';
import { nameOf } from '../model/troubles.ts';
import { type Item, Linked, Name, Several } from '../parts/cells.ts';
import { ageColumn, saysColumn } from '../parts/columns.ts';
import type { Column } from '../parts/data-table.ts';
import { List } from '../parts/list.ts';
import { Mark } from '../parts/mark.ts';
import type { ViewProps } from './view.ts';

export function PodsView({ model, query, onQuery }: ViewProps): ComponentChildren {
  const { pods } = model.tables;
  const rows = useMemo(() => [...pods.values()], [pods]);
  return h(List<PodRow>, {
    caption: 'Pods with volumes',
    testId: 'pods-table',
    columns,
    rows,
    idOf: ({ id }) => id,
    textOf: (row) =>
      [nameOf(row), row.node, phaseOf(row), ...volumesOf(row).map(({ text }) => text)].join(' '),
    stateOf: ({ state }) => state,
    rowProps: (row) => ({ 'data-testid': 'pod-row', 'data-name': nameOf(row), 'data-state': row.state }),
    empty: 'No pod uses a volume yet.',
    query,
    onQuery,
  });
}

const columns: readonly Column<PodRow>[] = [
  {
    key: 'name',
    title: 'Name',
    width: 260,
    rank: 0,
    narrow: { width: 190 },
    sortValue: nameOf,
    cell: (row) => h(Name, { text: nameOf(row), route: routeOfPod(row) }),
  },
  {
    key: 'state',
    title: 'State',
    width: 84,
    rank: 0,
    sortValue: ({ state }) => ['stuck', 'waits', 'ok'].indexOf(state),
    cell: ({ state }) => h(Mark, { state }),
  },
  { key: 'phase', title: 'Phase', width: 100, rank: 5, sortValue: phaseOf, cell: phaseOf },
  {
    key: 'node',
    title: 'Node',
    width: 140,
    rank: 1,
    narrow: { width: 84 },
    sortValue: ({ node }) => node,
    cell: ({ node }) => h(Linked, { kind: 'node', name: node }),
  },
  {
    key: 'volumes',
    title: 'Volumes',
    width: 220,
    rank: 3,
    sortValue: ({ volumes }) => volumes.length,
    cell: (row) => h(Several, { items: volumesOf(row) }),
  },
  saysColumn({ width: 380, rank: 4 }),
  ageColumn({ width: 76, rank: 2 }),
];

function phaseOf({ phase, isGoing }: PodRow): string {
  return isGoing ? 'going' : phase;
}

const volumesOf = ({ namespace, volumes }: PodRow): Item[] =>
  volumes.map(({ claim, driver }) =>
    claim === undefined
      ? { text: `inline, ${driver ?? 'unknown driver'}` }
      : { text: claim, route: detailsRoute({ kind: 'claim', namespace, name: claim }) },
  );
