// Snapshots of claims.

import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { SnapshotRow } from '../../page-messages.ts';
import { nameOf } from '../model/not-well.ts';
import { detailsRoute } from '../model/routes.ts';
import { bytesOf } from '../model/rows.ts';
import { Name } from '../parts/cells.ts';
import { Age } from '../parts/clock.ts';
import type { Column } from '../parts/data-table.ts';
import { List } from '../parts/list.ts';
import { Mark, type MarkProps } from '../parts/mark.ts';
import type { ViewProps } from './view.ts';

export function SnapshotsView({ model, query, onQuery }: ViewProps): ComponentChildren {
  const { snapshots } = model.tables;
  const rows = useMemo(() => [...snapshots.values()], [snapshots]);
  return h(List<SnapshotRow>, {
    caption: 'Snapshots',
    testId: 'snapshots-table',
    columns,
    rows,
    idOf: ({ id }) => id,
    textOf: (row) => [nameOf(row), row.claim, row.error].join(' '),
    stateOf: (row) => markOf(row).state,
    rowProps: (row) => ({ 'data-testid': 'snapshot-row', 'data-name': nameOf(row) }),
    empty: 'There are no snapshots.',
    query,
    onQuery,
  });
}

/** A failed snapshot is retried and may still become ready, but needs attention. */
function markOf({ isReady, isGoing, error }: SnapshotRow): Required<MarkProps> {
  if (error !== undefined) return { state: 'stuck', text: 'failed' };
  if (isGoing) return { state: 'waits', text: 'going' };
  return isReady ? { state: 'ok', text: 'ready' } : { state: 'waits', text: 'not ready' };
}

const columns: readonly Column<SnapshotRow>[] = [
  {
    key: 'name',
    title: 'Name',
    width: 260,
    sortValue: nameOf,
    cell: (row) => h(Name, { text: nameOf(row) }),
  },
  {
    key: 'state',
    title: 'State',
    width: 110,
    sortValue: (row) => markOf(row).text,
    cell: (row) => h(Mark, markOf(row)),
  },
  {
    key: 'claim',
    title: 'Claim',
    width: 200,
    sortValue: ({ claim }) => claim,
    cell: ({ namespace, claim }) =>
      claim === undefined
        ? '–'
        : h(Name, { text: claim, route: detailsRoute({ kind: 'claim', namespace, name: claim }) }),
  },
  {
    key: 'size',
    title: 'Size',
    width: 80,
    isNumber: true,
    sortValue: ({ size }) => bytesOf(size),
    cell: ({ size }) => size ?? '–',
  },
  {
    key: 'error',
    title: 'What is wrong',
    width: 380,
    sortValue: ({ error }) => error,
    cell: ({ error = '' }) => h('span', { class: 'cut', title: error }, error),
  },
  {
    key: 'age',
    title: 'Age',
    width: 76,
    isNumber: true,
    sortValue: ({ createdMs }) => -createdMs,
    cell: ({ createdMs }) => h(Age, { sinceMs: createdMs }),
  },
];
