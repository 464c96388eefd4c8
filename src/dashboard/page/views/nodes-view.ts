// Nodes: one row per node and driver, with its attached volumes and its limit.

import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { NodeRow } from '../../page-messages.ts';
import { listRoute } from '../model/routes.ts';
import { Linked, Name } from '../parts/cells.ts';
import type { Column } from '../parts/data-table.ts';
import { List } from '../parts/list.ts';
import { Mark } from '../parts/mark.ts';
import { shortTopology } from '../parts/topology-map.ts';
import type { ViewProps } from './view.ts';

interface DriverOnNode {
  readonly node: NodeRow;
  /** Absent where none is registered. */
  readonly driver: NodeRow['drivers'][number] | undefined;
}

export function NodesView({ model, query, onQuery }: ViewProps): ComponentChildren {
  const { nodes } = model.tables;
  const rows = useMemo(() => [...nodes.values()].flatMap(rowsOf), [nodes]);
  return h(
    'div',
    { 'data-testid': 'nodes' },
    h(List<DriverOnNode>, {
      caption: 'Nodes and the drivers on them',
      testId: 'nodes-table',
      columns,
      rows,
      idOf: ({ node, driver }) => `${node.id} ${driver?.name ?? ''}`,
      textOf: (row) => [row.node.name, row.driver?.name, row.driver?.nodeId, topologyOf(row)].join(' '),
      rowProps: ({ node }) => ({ 'data-testid': 'node-row', 'data-name': node.name }),
      empty: 'There are no nodes.',
      query,
      onQuery,
    }),
  );
}

const rowsOf = (node: NodeRow): DriverOnNode[] =>
  node.drivers.length === 0
    ? [{ node, driver: undefined }]
    : node.drivers.map((driver) => ({ node, driver }));

const columns: readonly Column<DriverOnNode>[] = [
  {
    key: 'name',
    title: 'Node',
    width: 160,
    rank: 0,
    narrow: { width: 110 },
    sortValue: ({ node }) => node.name,
    cell: ({ node }) => h(Linked, { kind: 'node', name: node.name }),
  },
  {
    key: 'ready',
    title: 'Ready',
    width: 110,
    rank: 0,
    narrow: { width: 36, title: '' },
    sortValue: ({ node }) => Number(node.isReady),
    cell: ({ node: { isReady } }) =>
      h(Mark, isReady ? { state: 'ok', text: 'ready' } : { state: 'stuck', text: 'not ready' }),
  },
  {
    key: 'driver',
    title: 'Driver',
    width: 200,
    rank: 1,
    narrow: { width: 150 },
    sortValue: ({ driver }) => driver?.name,
    cell: ({ driver }) =>
      driver === undefined
        ? h('span', { class: 'dim' }, 'none is registered')
        : h(Linked, { kind: 'driver', name: driver.name }),
  },
  {
    key: 'id',
    title: 'Node ID',
    width: 180,
    rank: 5,
    sortValue: ({ driver }) => driver?.nodeId,
    cell: ({ driver }) => h(Name, { text: driver?.nodeId ?? '–' }),
  },
  {
    key: 'attached',
    title: 'Attached',
    width: 190,
    rank: 2,
    narrow: { width: 72 },
    sortValue: ({ driver }) => driver?.attached,
    cell: ({ node, driver }) => (driver === undefined ? '–' : h(Taken, { node: node.name, ...driver })),
  },
  {
    key: 'topology',
    title: 'Topology',
    width: 250,
    rank: 4,
    sortValue: topologyOf,
    cell: (row) =>
      h('span', { class: 'name', title: topologyOf(row) }, shortTopology(topologyOf(row)) || '–'),
  },
  {
    key: 'pods',
    title: 'Pods',
    width: 70,
    rank: 3,
    isNumber: true,
    sortValue: ({ node }) => node.pods,
    cell: ({ node }) =>
      node.pods === 0
        ? 0
        : h(Name, { text: `${node.pods}`, route: listRoute('pods', { filter: node.name }) }),
  },
];

type TakenProps = Omit<NodeRow['drivers'][number], 'name'> & { readonly node: string };

function Taken({ node, attached, limit }: TakenProps): ComponentChildren {
  const count = (text: string): ComponentChildren =>
    attached === 0 ? text : h(Name, { text, route: listRoute('volumes', { filter: node }) });
  if (limit === undefined)
    return h('span', { class: 'taken' }, count(`${attached}`), h('span', { class: 'dim' }, ' no limit'));
  const share = limit === 0 ? 1 : Math.min(1, attached / limit);
  return h(
    'span',
    { class: 'taken' },
    h(
      'span',
      { class: 'gauge', 'aria-hidden': true },
      h('span', { class: share >= 1 ? 'full' : '', style: { width: `${share * 100}%` } }),
    ),
    count(`${attached}/${limit}`),
    share >= 1 ? h('span', { class: 'mark waits' }, ' full') : null,
  );
}

function topologyOf({ driver }: DriverOnNode): string {
  return Object.entries(driver?.topology ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');
}
