// A list with filter and sort order: the bar, and the table or the reason why it is empty.

import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { State } from '../../page-messages.ts';
import type { Query } from '../model/routes.ts';
import { filterOf } from '../model/rows.ts';
import { type Column, DataTable } from './data-table.ts';
import { FilterBar } from './filter-bar.ts';

export interface ListProps<R> {
  readonly caption: string;
  readonly testId: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  readonly idOf: (row: R) => string;
  /** All names shown in a row, for the filter. */
  readonly textOf: (row: R) => string;
  readonly stateOf?: (row: R) => State;
  readonly rowProps?: (row: R) => Readonly<Record<string, string>>;
  /** For a list without any rows. */
  readonly empty: ComponentChildren;
  readonly query: Query;
  readonly onQuery: (query: Query) => void;
  /** For the second list of one route, which shares the bar of the first. */
  readonly hasBar?: boolean;
}

export function List<R>(props: ListProps<R>): ComponentChildren {
  const { rows, textOf, stateOf, query, onQuery, empty, hasBar = true, ...table } = props;
  const { filter, state } = query;
  const shown = useMemo(() => {
    const matches = filterOf(filter);
    return rows.filter(
      (row) =>
        (state === undefined || stateOf === undefined || stateOf(row) === state) && matches(textOf(row)),
    );
  }, [rows, filter, state]);
  const bar = { query, onQuery, hasStates: stateOf !== undefined, shown: shown.length, total: rows.length };
  return h(
    'div',
    { class: 'list' },
    hasBar && rows.length > 0 ? h(FilterBar, bar) : null,
    shown.length > 0
      ? h(DataTable<R>, { ...table, rows: shown, query, onQuery })
      : h('div', { class: 'empty' }, rows.length === 0 ? empty : 'Nothing matches the filter.'),
  );
}
