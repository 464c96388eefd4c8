// A table of any length: sorted by a click on a header, with only the visible rows and the columns that fit in the document.

import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Query } from '../model/routes.ts';
import { fitting, type SortValue, sortedBy, windowOf } from '../model/rows.ts';
import { useScroll } from './use-scroll.ts';

export interface Column<R> {
  /** Used in routes, so it must be unique among the tables of one route. */
  readonly key: string;
  readonly title: ComponentChildren;
  /** In CSS pixels; extra width is shared among the columns. */
  readonly width: number;
  /** Which columns are left out first where not all fit: those of the highest rank; those of rank 0 never. */
  readonly rank: number;
  /** On a phone. */
  readonly narrow?: { readonly width: number; readonly title?: ComponentChildren };
  readonly isNumber?: boolean;
  /** Without it the table cannot be sorted by this column. */
  readonly sortValue?: (row: R) => SortValue;
  readonly cell: (row: R) => ComponentChildren;
}

export interface DataTableProps<R> {
  readonly caption: string;
  readonly testId: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  readonly idOf: (row: R) => string;
  /** Attributes for tests and styles. */
  readonly rowProps?: (row: R) => Readonly<Record<string, string>>;
  readonly query: Query;
  readonly onQuery: (query: Query) => void;
}

/** As in the style sheet: visible rows are computed, not measured. */
const ROW_HEIGHT_PX = 30;

export function DataTable<R>(props: DataTableProps<R>): ComponentChildren {
  const { caption, testId, rows, idOf, rowProps, query, onQuery } = props;
  const { ref, top, inSight, widthPx } = useScroll(testId, ROW_HEIGHT_PX, orderOf(query));
  const columns = useMemo(() => fittingColumns(props.columns, widthPx), [props.columns, widthPx]);
  const by =
    props.columns.find(({ key }) => key === query.sort) ?? props.columns.find(({ sortValue }) => sortValue);
  const isDescending = by?.key === query.sort && query.isDescending;
  const sorted = useMemo(
    () => (by?.sortValue === undefined ? rows : sortedBy(rows, by.sortValue, isDescending)),
    [rows, by, isDescending],
  );
  const { first, end } = windowOf(sorted.length, top, inSight);
  const headProps = { by, isDescending, query, onQuery };
  return h(
    'div',
    { class: 'scroll', ref, tabIndex: 0, role: 'region', 'aria-label': caption },
    h(
      'table',
      {
        'data-testid': testId,
        'aria-rowcount': sorted.length + 1,
        style: { minWidth: `${columns.reduce((sum, { width }) => sum + width, 0)}px` },
      },
      h('caption', { class: 'unseen' }, caption),
      h(
        'colgroup',
        null,
        columns.map(({ key, width }) => h('col', { key, style: { width: `${width}px` } })),
      ),
      h(
        'thead',
        null,
        h(
          'tr',
          { 'aria-rowindex': 1 },
          columns.map((column) => h(Head<R>, { key: column.key, column, ...headProps })),
        ),
      ),
      h(
        'tbody',
        null,
        h(Gap, { key: 'above', rows: first }),
        sorted.slice(first, end).map((row, index) =>
          h(
            'tr',
            { key: idOf(row), 'aria-rowindex': first + index + 2, ...rowProps?.(row) },
            columns.map(({ key, isNumber, cell }, column) => {
              const name = isNumber ? 'number' : '';
              // The first column names the row's object.
              return column === 0
                ? h('th', { key, scope: 'row', class: name }, cell(row))
                : h('td', { key, class: name }, cell(row));
            }),
          ),
        ),
        h(Gap, { key: 'below', rows: sorted.length - end }),
      ),
    ),
  );
}

/** Below this width the table is on a phone. */
const NARROW_PX = 560;

function fittingColumns<R>(columns: readonly Column<R>[], widthPx: number): readonly Column<R>[] {
  const isNarrow = widthPx < NARROW_PX;
  return fitting(isNarrow ? columns.map((column) => ({ ...column, ...column.narrow })) : columns, widthPx);
}

/** Another filter or sort order is another list: it is shown from its start. */
const orderOf = ({ filter, state, sort, isDescending }: Query): string =>
  JSON.stringify([filter, state, sort, isDescending]);

interface HeadProps<R> {
  readonly column: Column<R>;
  readonly by: Column<R> | undefined;
  readonly isDescending: boolean;
  readonly query: Query;
  readonly onQuery: (query: Query) => void;
}

function Head<R>({ column, by, isDescending, query, onQuery }: HeadProps<R>): ComponentChildren {
  const { key, title, isNumber, sortValue } = column;
  const name = isNumber ? 'number' : '';
  if (sortValue === undefined) return h('th', { scope: 'col', class: name }, title);
  const isBy = by?.key === key;
  const sort = isBy ? (isDescending ? 'descending' : 'ascending') : 'none';
  const onClick = (): void => onQuery({ ...query, sort: key, isDescending: isBy && !isDescending });
  return h(
    'th',
    { scope: 'col', class: name, 'aria-sort': sort },
    h(
      'button',
      { type: 'button', onClick },
      title,
      h('span', { class: `sort ${sort}`, 'aria-hidden': true }),
    ),
  );
}

/** A spacer as high as the rows that are not in the document. */
function Gap({ rows }: { rows: number }): ComponentChildren {
  if (rows === 0) return null;
  return h('tr', { 'aria-hidden': true, class: 'gap', style: { height: `${rows * ROW_HEIGHT_PX}px` } });
}
