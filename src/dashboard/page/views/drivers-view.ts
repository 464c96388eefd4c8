// Drivers with their capabilities, and the classes that use them.

import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ClassRow, DriverRow } from '../../page-messages.ts';
import { listRoute } from '../model/routes.ts';
import { Linked, Name, yesOrNo } from '../parts/cells.ts';
import type { Column } from '../parts/data-table.ts';
import { List } from '../parts/list.ts';
import { Mark } from '../parts/mark.ts';
import type { ViewProps } from './view.ts';

export function DriversView({ model, query, onQuery }: ViewProps): ComponentChildren {
  const { drivers, classes } = model.tables;
  const driverRows = useMemo(() => [...drivers.values()], [drivers]);
  const classRows = useMemo(() => [...classes.values()], [classes]);
  return h(
    'div',
    null,
    h(List<DriverRow>, {
      caption: 'Drivers',
      testId: 'drivers-table',
      columns: driverColumns,
      rows: driverRows,
      idOf: ({ id }) => id,
      textOf: ({ name, modes, fsGroupPolicy }) => [name, ...modes, fsGroupPolicy].join(' '),
      rowProps: ({ name }) => ({ 'data-testid': 'driver-row', 'data-name': name }),
      empty: 'No CSI driver is registered.',
      query,
      onQuery,
    }),
    h('h2', null, 'Classes'),
    h(List<ClassRow>, {
      caption: 'Storage classes',
      testId: 'classes-table',
      columns: classColumns,
      rows: classRows,
      idOf: ({ id }) => id,
      textOf: ({ name, driver, bindingMode }) => [name, driver, bindingMode].join(' '),
      rowProps: ({ name }) => ({ 'data-testid': 'class-row', 'data-name': name }),
      empty: 'There is no storage class.',
      query,
      onQuery,
      hasBar: false,
    }),
  );
}

const flag = (
  key: 'attachRequired' | 'podInfoOnMount' | 'storageCapacity',
  title: string,
): Column<DriverRow> => ({
  key,
  title,
  width: 100,
  rank: 6,
  sortValue: (row) => Number(row[key]),
  cell: (row) => yesOrNo(row[key]),
});

const driverColumns: readonly Column<DriverRow>[] = [
  {
    key: 'name',
    title: 'Driver',
    width: 240,
    rank: 0,
    narrow: { width: 190 },
    sortValue: ({ name }) => name,
    cell: ({ name }) => h(Linked, { kind: 'driver', name }),
  },
  {
    key: 'state',
    title: 'State',
    width: 84,
    rank: 0,
    narrow: { width: 36, title: '' },
    sortValue: ({ state }) => ['stuck', 'waits', 'ok'].indexOf(state),
    cell: ({ state, says }) => h('span', { title: says }, h(Mark, { state })),
  },
  flag('attachRequired', 'Attaches'),
  flag('podInfoOnMount', 'Pod info'),
  flag('storageCapacity', 'Capacity'),
  {
    key: 'modes',
    title: 'Modes',
    width: 180,
    rank: 7,
    sortValue: ({ modes }) => modes.join(', '),
    cell: ({ modes }) => h('span', { class: 'cut' }, modes.join(', ')),
  },
  {
    key: 'fsGroupPolicy',
    title: 'fsGroup policy',
    width: 200,
    rank: 8,
    sortValue: ({ fsGroupPolicy }) => fsGroupPolicy,
    cell: ({ fsGroupPolicy }) => h('span', { class: 'cut' }, fsGroupPolicy),
  },
  {
    key: 'volumes',
    title: 'Volumes',
    width: 76,
    rank: 1,
    isNumber: true,
    sortValue: ({ volumes }) => volumes,
    cell: ({ name, volumes }) =>
      volumes === 0 ? 0 : h(Name, { text: `${volumes}`, route: listRoute('volumes', { filter: name }) }),
  },
  {
    key: 'nodes',
    title: 'Nodes',
    width: 66,
    rank: 2,
    isNumber: true,
    sortValue: ({ nodes }) => nodes,
    cell: ({ name, nodes }) =>
      nodes === 0 ? 0 : h(Name, { text: `${nodes}`, route: listRoute('nodes', { filter: name }) }),
  },
];

// Keys differ from the drivers' table: one route sorts both tables.
const classColumns: readonly Column<ClassRow>[] = [
  {
    key: 'class',
    title: 'Class',
    width: 240,
    rank: 0,
    narrow: { width: 180 },
    sortValue: ({ name }) => name,
    cell: ({ name, isDefault }) =>
      h(
        'span',
        { class: 'several' },
        h(Linked, { kind: 'class', name }),
        isDefault ? h('span', { class: 'tag' }, 'default') : null,
      ),
  },
  {
    key: 'provisioner',
    title: 'Driver',
    width: 240,
    rank: 1,
    narrow: { width: 180 },
    sortValue: ({ driver }) => driver,
    cell: ({ driver }) => h(Linked, { kind: 'driver', name: driver }),
  },
  {
    key: 'bindingMode',
    title: 'Binding',
    width: 200,
    rank: 2,
    sortValue: ({ bindingMode }) => bindingMode,
    cell: ({ bindingMode }) => h('span', { class: 'cut' }, bindingMode),
  },
  {
    key: 'reclaimPolicy',
    title: 'When released',
    width: 140,
    rank: 3,
    sortValue: ({ reclaimPolicy }) => reclaimPolicy,
    cell: ({ reclaimPolicy }) => reclaimPolicy,
  },
  {
    key: 'canExpand',
    title: 'Can grow',
    width: 110,
    rank: 4,
    sortValue: ({ canExpand }) => Number(canExpand),
    cell: ({ canExpand }) => yesOrNo(canExpand),
  },
];
