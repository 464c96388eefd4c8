// The facts of a row, with links to related objects.

import { type ComponentChildren, h } from 'preact';
import type { PodRow, VolumeRow } from '../../page-messages.ts';
import { nameOf } from '../model/not-well.ts';
import { detailsRoute, routeOfPod, routeOfVolume, type Subject } from '../model/routes.ts';
import { type Item, Name } from './cells.ts';
import { Age } from './clock.ts';
import { Mark } from './mark.ts';

type Fact = readonly [title: string, value: ComponentChildren];

export interface FactsProps {
  readonly found: VolumeRow | PodRow;
  /** The object that is shown: it needs no link to itself. */
  readonly isOf: Subject['kind'];
}

export function Facts({ found, isOf }: FactsProps): ComponentChildren {
  const own = 'subject' in found ? volumeFacts(found, isOf) : podFacts(found);
  const facts: Fact[] = [
    ['State', h(Mark, { state: found.state })],
    ['Phase', found.isGoing ? `${found.phase}, going` : found.phase],
    ['Age', h(Age, { sinceMs: found.createdMs })],
    ...own,
  ];
  return h(
    'dl',
    { class: 'facts' },
    facts.map(([title, value]) => h('div', { key: title }, h('dt', null, title), h('dd', null, value))),
  );
}

function volumeFacts(row: VolumeRow, isOf: Subject['kind']): Fact[] {
  const {
    subject,
    namespace = '',
    size,
    className,
    driver,
    volume,
    handle,
    accessModes,
    attachments,
    pods,
  } = row;
  const facts: (Fact | undefined)[] = [
    subject === 'claim' && isOf !== 'claim'
      ? ['Claim', h(Name, { text: nameOf(row), route: routeOfVolume(row) })]
      : undefined,
    volume === undefined || isOf === 'volume'
      ? undefined
      : ['Volume', h(Name, { text: volume, route: detailsRoute({ kind: 'volume', name: volume }) })],
    nameFact('Handle', handle),
    size === undefined ? undefined : ['Size', size],
    nameFact('Class', className),
    nameFact('Driver', driver),
    accessModes.length === 0 ? undefined : ['Access', accessModes.join(', ')],
    attachments.length === 0
      ? undefined
      : ['Attachments', h(Lines, { items: attachments.map((each) => ({ text: attachmentText(each) })) })],
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
        ? { text: `inline, ${driver ?? 'unknown driver'}` }
        : { text: claim, route: detailsRoute({ kind: 'claim', namespace, name: claim }) },
  );
  return [
    ['Node', h(Name, { text: node ?? 'none yet' })],
    ['Volumes', h(Lines, { items })],
  ];
}

function attachmentText({ node, attached, isGoing, error }: VolumeRow['attachments'][number]): string {
  const state = isGoing ? 'is being detached' : attached ? 'attached' : 'not attached yet';
  return `${node}: ${state}${error === undefined ? '' : `, ${error}`}`;
}

const nameFact = (title: string, text: string | undefined): Fact | undefined =>
  text === undefined ? undefined : [title, h(Name, { text })];

function Lines({ items }: { items: readonly Item[] }): ComponentChildren {
  return h(
    'ul',
    null,
    items.map((item) => h('li', { key: item.text }, h(Name, item))),
  );
}
