// Snapshots of claims, and group snapshots.

import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { GroupRow, SnapshotRow } from '../../page-messages.ts';
import { detailsRoute, listRoute } from '../model/routes.ts';
import { bytesOf } from '../model/rows.ts';
import { nameOf } from '../model/troubles.ts';
import { Name } from '../parts/cells.ts';
import { ageColumn, saysColumn } from '../parts/columns.ts';
import type { Column } from '../parts/data-table.ts';
import { List } from '../parts/list.ts';
import { Mark, type MarkProps } from '../parts/mark.ts';
import type { ViewProps } from './view.ts';

export function SnapshotsView({ model, query, onQuery }: ViewProps): ComponentChildren {
  const { snapshots, groups } = model.tables;
  const rows = useMemo(() => [...snapshots.values()], [snapshots]);
  const groupRows = useMemo(() => [...groups.values()], [groups]);
  return h(
    'div',
    null,
    h(List<SnapshotRow>, {
      caption: 'Snapshots',
      testId: 'snapshots-table',
      columns,
      rows,
      idOf: ({ id }) => id,
      textOf: (row) => [nameOf(row), row.claim, row.group, row.says].join(' '),
      stateOf: ({ state }) => state,
      rowProps: (row) => ({
        'data-testid': 'snapshot-row',
        'data-name': nameOf(row),
        'data-state': row.state,
      }),
      empty: 'There are no snapshots.',
      query,
      onQuery,
    }),
    groupRows.length === 0 ? null : h('h2', null, 'Group snapshots'),
    groupRows.length === 0
      ? null
      : h(List<GroupRow>, {
          caption: 'Group snapshots',
          testId: 'groups-table',
          columns: groupColumns,
          rows: groupRows,
          idOf: ({ id }) => id,
          textOf: (row) => [nameOf(row), row.says].join(' '),
          stateOf: ({ state }) => state,
          rowProps: (row) => ({
            'data-testid': 'group-row',
            'data-name': nameOf(row),
            'data-state': row.state,
          }),
          empty: '',
          query,
          onQuery,
          hasBar: false,
        }),
  );
}

function markOf({ state, isReady, isGoing }: SnapshotRow | GroupRow): Required<MarkProps> {
  if (isGoing) return { state: state === 'ok' ? 'waits' : state, text: 'going' };
  return { state, text: isReady ? 'ready' : state === 'stuck' ? 'stuck' : 'not ready' };
}

/** Keys of the two tables differ: one route sorts both. */
const nameAndState = (kind: 'snapshot' | 'group', prefix = ''): readonly Column<SnapshotRow | GroupRow>[] => [
  {
    key: `${prefix}name`,
    title: 'Name',
    width: 260,
    rank: 0,
    narrow: { width: 170 },
    sortValue: nameOf,
    cell: (row) =>
      h(Name, { text: nameOf(row), route: detailsRoute({ kind, namespace: row.namespace, name: row.name }) }),
  },
  {
    key: `${prefix}state`,
    title: 'State',
    width: 110,
    rank: 0,
    narrow: { width: 96 },
    sortValue: (row) => markOf(row).text,
    cell: (row) => h(Mark, markOf(row)),
  },
];

const columns: readonly Column<SnapshotRow>[] = [
  ...nameAndState('snapshot'),
  {
    key: 'claim',
    title: 'Claim',
    width: 180,
    rank: 1,
    narrow: { width: 94 },
    sortValue: ({ claim }) => claim,
    cell: ({ namespace, claim }) =>
      claim === undefined
        ? '–'
        : h(Name, { text: claim, route: detailsRoute({ kind: 'claim', namespace, name: claim }) }),
  },
  {
    key: 'group',
    title: 'Group',
    width: 140,
    rank: 5,
    sortValue: ({ group }) => group,
    cell: ({ namespace, group }) =>
      group === undefined
        ? '–'
        : h(Name, { text: group, route: detailsRoute({ kind: 'group', namespace, name: group }) }),
  },
  {
    key: 'size',
    title: 'Size',
    width: 80,
    rank: 3,
    isNumber: true,
    sortValue: ({ size }) => bytesOf(size),
    cell: ({ size }) => size ?? '–',
  },
  saysColumn({ width: 340, rank: 4 }),
  ageColumn({ width: 76, rank: 2 }),
];

const groupColumns: readonly Column<GroupRow>[] = [
  ...nameAndState('group', 'group-'),
  {
    key: 'members',
    title: 'Snapshots',
    width: 90,
    rank: 1,
    isNumber: true,
    sortValue: ({ snapshots }) => snapshots,
    cell: ({ name, snapshots }) =>
      snapshots === 0
        ? 0
        : h(Name, { text: `${snapshots}`, route: listRoute('snapshots', { filter: name }) }),
  },
  saysColumn({ key: 'group-says', width: 400, rank: 3 }),
  ageColumn({ key: 'group-age', width: 76, rank: 2 }),
];
