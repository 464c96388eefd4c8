// The facts of a row, with links to related objects.

import { type ComponentChildren, h } from 'preact';
import type { DriverRow, NodeRow, PodRow, State, VolumeRow } from '../../page-messages.ts';
import {
  detailsRoute,
  listRoute,
  type Route,
  routeOfPod,
  routeOfVolume,
  type Subject,
} from '../model/routes.ts';
import type { SubjectRow } from '../model/subject-row.ts';
import { nameOf } from '../model/troubles.ts';
import { distinct, type Item, Name, yesOrNo } from './cells.ts';
import { Age } from './clock.ts';
import { Mark } from './mark.ts';

type Fact = readonly [title: string, value: ComponentChildren];

export interface FactsProps {
  readonly found: SubjectRow;
  /** The object that is shown: it needs no link to itself. */
  readonly isOf: Subject['kind'];
}

export function Facts({ found, isOf }: FactsProps): ComponentChildren {
  const facts: Fact[] = [['State', h(Mark, { state: found.row.state })], ...factsOf(found, isOf)];
  return h(
    'dl',
    { class: 'facts' },
    facts.map(([title, value]) => h('div', { key: title }, h('dt', null, title), h('dd', null, value))),
  );
}

function factsOf(found: SubjectRow, isOf: Subject['kind']): Fact[] {
  switch (found.kind) {
    case 'volume':
      return [...lifeFacts(found.row), ...volumeFacts(found.row, isOf)];
    case 'pod':
      return [...lifeFacts(found.row), ...podFacts(found.row)];
    case 'snapshot': {
      const { row } = found;
      const { namespace, claim, group, size } = row;
      return [
        ...lifeFacts({ ...row, phase: row.isReady ? 'ready to use' : 'not ready' }),
        ...(claim === undefined ? [] : [link('Claim', claim, { kind: 'claim', namespace, name: claim })]),
        ...(group === undefined ? [] : [link('Group', group, { kind: 'group', namespace, name: group })]),
        ...(size === undefined ? [] : [['Size', size] as const]),
      ];
    }
    case 'group': {
      const { row } = found;
      return [
        ...lifeFacts({ ...row, phase: row.isReady ? 'ready to use' : 'not ready' }),
        [
          'Snapshots',
          h(Name, { text: `${row.snapshots}`, route: listRoute('snapshots', { filter: row.name }) }),
        ],
      ];
    }
    case 'node':
      return nodeFacts(found.row);
    case 'driver':
      return driverFacts(found.row);
    case 'class': {
      const { driver, isDefault, bindingMode, reclaimPolicy, canExpand } = found.row;
      return [
        link('Driver', driver, { kind: 'driver', name: driver }),
        ['Default', yesOrNo(isDefault)],
        ['Binding', bindingMode],
        ['When released', reclaimPolicy],
        ['Can grow', yesOrNo(canExpand)],
      ];
    }
    default:
      return found satisfies never;
  }
}

function lifeFacts(row: { phase: string; isGoing: boolean; createdMs: number; state: State }): Fact[] {
  return [
    ['Phase', row.isGoing ? `${row.phase}, going` : row.phase],
    ['Age', h(Age, { sinceMs: row.createdMs })],
  ];
}

function volumeFacts(row: VolumeRow, isOf: Subject['kind']): Fact[] {
  const { subject, namespace = '', size, className, driver, volume, handle } = row;
  const { accessModes, attachments, pods } = row;
  const facts: (Fact | undefined)[] = [
    subject === 'claim' && isOf !== 'claim'
      ? ['Claim', h(Name, { text: nameOf(row), route: routeOfVolume(row) })]
      : undefined,
    volume === undefined || isOf === 'volume'
      ? undefined
      : link('Volume', volume, { kind: 'volume', name: volume }),
    handle === undefined ? undefined : ['Handle', h(Name, { text: handle })],
    size === undefined ? undefined : ['Size', size],
    className === undefined ? undefined : link('Class', className, { kind: 'class', name: className }),
    driver === undefined ? undefined : link('Driver', driver, { kind: 'driver', name: driver }),
    accessModes.length === 0 ? undefined : ['Access', accessModes.join(', ')],
    attachments.length === 0
      ? undefined
      : [
          'Attachments',
          h(Lines, {
            items: attachments.map((each) => ({
              text: attachmentText(each),
              route: detailsRoute({ kind: 'node', name: each.node }),
            })),
          }),
        ],
    pods.length === 0
      ? undefined
      : [
          'Pods',
          h(Lines, {
            items: pods.map(({ name, node, phase }) => ({
              text: `${name} (${phase}${node === undefined ? ', no node' : ` on ${node}`})`,
              route: routeOfPod({ namespace, name }),
            })),
          }),
        ],
  ];
  return facts.filter((fact) => fact !== undefined);
}

function podFacts({ namespace, node, volumes }: PodRow): Fact[] {
  const items = volumes.map(
    ({ claim, driver }): Item =>
      claim === undefined
        ? {
            text: `inline, ${driver ?? 'unknown driver'}`,
            ...(driver !== undefined && { route: detailsRoute({ kind: 'driver', name: driver }) }),
          }
        : { text: claim, route: detailsRoute({ kind: 'claim', namespace, name: claim }) },
  );
  return [
    node === undefined ? ['Node', 'none yet'] : link('Node', node, { kind: 'node', name: node }),
    ['Volumes', h(Lines, { items })],
  ];
}

function nodeFacts({ name, isReady, pods, drivers }: NodeRow): Fact[] {
  return [
    ['Ready', yesOrNo(isReady)],
    ['Pods with volumes', counted(pods, listRoute('pods', { filter: name }))],
    [
      'Attached volumes',
      counted(
        drivers.reduce((sum, { attached }) => sum + attached, 0),
        listRoute('volumes', { filter: name }),
      ),
    ],
    [
      'Drivers',
      h(Lines, {
        items: drivers.map((driver) => ({
          text: [
            `${driver.name} as ${driver.nodeId}`,
            `${driver.attached}${driver.limit === undefined ? '' : ` of ${driver.limit}`} attached`,
            ...distinct(Object.entries(driver.topology).map(([key, value]) => `${key}=${value}`)),
          ].join(', '),
          route: detailsRoute({ kind: 'driver', name: driver.name }),
        })),
      }),
    ],
  ];
}

function driverFacts(row: DriverRow): Fact[] {
  return [
    ['Volumes', counted(row.volumes, listRoute('volumes', { filter: row.name }))],
    ['Nodes', counted(row.nodes, listRoute('nodes', { filter: row.name }))],
    ['Attaches', yesOrNo(row.attachRequired)],
    ['Pod info on mount', yesOrNo(row.podInfoOnMount)],
    ['Reports capacity', yesOrNo(row.storageCapacity)],
    ['Modes', row.modes.join(', ')],
    ['fsGroup policy', row.fsGroupPolicy],
  ];
}

const link = (title: string, text: string, subject: Subject): Fact => [
  title,
  h(Name, { text, route: detailsRoute(subject) }),
];

const counted = (count: number, route: Route): ComponentChildren =>
  count === 0 ? '0' : h(Name, { text: `${count}`, route });

function attachmentText({ node, attached, isGoing, error }: VolumeRow['attachments'][number]): string {
  const state = isGoing ? 'is being detached' : attached ? 'attached' : 'not attached yet';
  return `${node}: ${state}${error === undefined ? '' : `, ${error}`}`;
}

function Lines({ items }: { items: readonly Item[] }): ComponentChildren {
  if (items.length === 0) return 'none';
  return h(
    'ul',
    null,
    items.map((item) => h('li', { key: item.text }, h(Name, item))),
  );
}
