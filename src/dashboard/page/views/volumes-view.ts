// Every volume and its stage.

import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { DriverRow, VolumeRow } from '../../page-messages.ts';
import { lifeLine, progressOf, stageNames } from '../model/life-line.ts';
import { detailsRoute, routeOfPod, routeOfVolume } from '../model/routes.ts';
import { bytesOf } from '../model/rows.ts';
import { nameOf } from '../model/troubles.ts';
import { distinct, Linked, Name, Several } from '../parts/cells.ts';
import { ageColumn } from '../parts/columns.ts';
import { CopyCommand } from '../parts/copy-command.ts';
import type { Column } from '../parts/data-table.ts';
import { LifeLineView, StageNames } from '../parts/life-line-view.ts';
import { List } from '../parts/list.ts';
import { Mark } from '../parts/mark.ts';
import type { ViewProps } from './view.ts';

export function VolumesView({ model, query, onQuery }: ViewProps): ComponentChildren {
  const { volumes, drivers } = model.tables;
  const rows = useMemo(() => [...volumes.values()], [volumes]);
  const columns = useMemo(() => columnsOf([...drivers.values()]), [drivers]);
  const list = h(List<VolumeRow>, {
    caption: 'Volumes',
    testId: 'volumes-table',
    columns,
    rows,
    idOf: ({ id }) => id,
    textOf,
    stateOf: ({ state }) => state,
    rowProps: (row) => ({ 'data-testid': 'volume-row', 'data-name': nameOf(row), 'data-state': row.state }),
    empty: h(NoVolumes, { example: model.about?.example ?? '' }),
    query,
    onQuery,
  });
  return h('div', null, h('p', { class: 'stage-legend' }, `Stages: ${stageNames.join(', ')}.`), list);
}

function NoVolumes({ example }: { example: string }): ComponentChildren {
  return h(
    'div',
    { 'data-testid': 'no-volumes' },
    h('p', null, 'There are no claims and no volumes yet. New ones appear here at once. To make one:'),
    h(CopyCommand, { command: example }),
  );
}

function columnsOf(drivers: readonly DriverRow[]): readonly Column<VolumeRow>[] {
  const byName = new Map(drivers.map((driver) => [driver.name, driver]));
  const stagesOf = (row: VolumeRow) => lifeLine(row, byName.get(row.driver ?? ''));
  return [
    {
      key: 'name',
      title: 'Name',
      width: 220,
      rank: 0,
      narrow: { width: 180 },
      sortValue: nameOf,
      cell: (row) => h(Name, { text: nameOf(row), route: routeOfVolume(row) }),
    },
    {
      key: 'state',
      title: 'State',
      width: 80,
      rank: 0,
      narrow: { width: 36, title: '' },
      sortValue: ({ state }) => ['stuck', 'waits', 'ok'].indexOf(state),
      cell: ({ state, says }) => h('span', { title: says }, h(Mark, { state })),
    },
    {
      key: 'life',
      title: h(StageNames, null),
      width: 372,
      rank: 0,
      narrow: { width: 144, title: 'Stages' },
      sortValue: (row) => progressOf(stagesOf(row)),
      cell: (row) => h(LifeLineView, { stages: stagesOf(row) }),
    },
    { key: 'phase', title: 'Phase', width: 80, rank: 9, sortValue: phaseOf, cell: phaseOf },
    {
      key: 'size',
      title: 'Size',
      width: 64,
      rank: 4,
      isNumber: true,
      sortValue: ({ size }) => bytesOf(size),
      cell: ({ size }) => size ?? '–',
    },
    {
      key: 'class',
      title: 'Class',
      width: 104,
      rank: 7,
      sortValue: ({ className }) => className,
      cell: ({ className }) => h(Linked, { kind: 'class', name: className }),
    },
    {
      key: 'driver',
      title: 'Driver',
      width: 140,
      rank: 6,
      sortValue: ({ driver }) => driver,
      cell: ({ driver }) => h(Linked, { kind: 'driver', name: driver }),
    },
    {
      key: 'node',
      title: 'Node',
      width: 84,
      rank: 3,
      sortValue: (row) => nodesOf(row)[0],
      cell: (row) =>
        h(Several, {
          items: nodesOf(row).map((text) => ({ text, route: detailsRoute({ kind: 'node', name: text }) })),
        }),
    },
    {
      key: 'pod',
      title: 'Pod',
      width: 110,
      rank: 2,
      sortValue: ({ pods }) => pods[0]?.name,
      cell: ({ namespace = '', pods }) =>
        h(Several, {
          items: pods.map(({ name }) => ({ text: name, route: routeOfPod({ namespace, name }) })),
        }),
    },
    ageColumn({ width: 70, rank: 1 }),
  ];
}

const phaseOf = ({ phase, isGoing }: VolumeRow): string => (isGoing ? 'going' : phase);

/** The nodes where it is attached or used. */
const nodesOf = ({ attachments, pods }: VolumeRow): string[] =>
  distinct([...attachments, ...pods].flatMap(({ node }) => node ?? []));

const textOf = (row: VolumeRow): string =>
  [nameOf(row), row.volume, row.handle, row.className, row.driver, phaseOf(row), ...nodesOf(row)]
    .concat(row.pods.map(({ name }) => name))
    .join(' ');
