// The details of one object: its chain, where it can be used, its events and its steps.

import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { DriverRow, SubjectDetails, SubjectKind, VolumeRow } from '../../page-messages.ts';
import type { DetailsState } from '../model/details-loader.ts';
import { lifeLine } from '../model/life-line.ts';
import type { Model } from '../model/model.ts';
import type { Subject } from '../model/routes.ts';
import { rowOf } from '../model/subject-row.ts';
import { nameOf } from '../model/troubles.ts';
import { Actions } from '../parts/actions.ts';
import { ChainView } from '../parts/chain-view.ts';
import { Events } from '../parts/events.ts';
import { Facts } from '../parts/facts.ts';
import { LifeLineView, StageNames } from '../parts/life-line-view.ts';
import { Timeline } from '../parts/timeline.ts';
import { TopologyMap } from '../parts/topology-map.ts';
import { useDetails } from './use-details.ts';

export interface DetailsViewProps {
  readonly model: Model;
  readonly subject: Subject;
  /** The list that the user came from, with its filter. */
  readonly backHash: string;
}

const kinds: Readonly<Record<SubjectKind, string>> = {
  claim: 'Claim',
  volume: 'Volume',
  pod: 'Pod',
  snapshot: 'Snapshot',
  group: 'Group snapshot',
  node: 'Node',
  driver: 'Driver',
  class: 'Class',
};
/** The trace has steps of these. */
const recorded: readonly SubjectKind[] = ['claim', 'volume', 'pod', 'snapshot', 'group'];

export function DetailsView({ model, subject, backHash }: DetailsViewProps): ComponentChildren {
  const found = rowOf(model.tables, subject);
  const lastStep = model.steps.at(-1)?.seq;
  const { state, refresh } = useDetails(subject, [found?.row, lastStep, model.about]);
  const { details } = state;
  return h(
    'article',
    { class: 'details', 'data-testid': 'details', 'aria-busy': state.isLoading },
    h('a', { href: backHash, class: 'back' }, '← back to the list'),
    h(
      'h2',
      { tabIndex: -1 },
      h('span', { class: 'dim' }, kinds[subject.kind], ' '),
      h('span', { class: 'name' }, nameOf(subject)),
    ),
    h(Problem, { state, refresh }),
    found === undefined ? null : h(Facts, { found, isOf: subject.kind }),
    // What keeps it may be a pod that uses it, which is not in its own chain.
    found !== undefined && found.row.says !== '' && details?.links.every(({ state }) => state === 'ok')
      ? h('p', { class: 'notice', 'data-testid': 'says' }, found.row.says)
      : null,
    found?.kind === 'volume' ? h(Way, { row: found.row, drivers: model.tables.drivers }) : null,
    details === undefined
      ? state.problem === undefined
        ? h('p', { class: 'dim' }, 'Asking…')
        : null
      : h(
          Known,
          { details, hasHistory: model.about?.hasHistory ?? false },
          found !== undefined && model.about?.allowsActions ? h(Actions, { found }) : null,
        ),
  );
}

function Way({
  row,
  drivers,
}: {
  row: VolumeRow;
  drivers: ReadonlyMap<string, DriverRow>;
}): ComponentChildren {
  const driver = drivers.get(row.driver ?? '');
  return h('div', { class: 'way' }, h(StageNames, null), h(LifeLineView, { stages: lifeLine(row, driver) }));
}

interface KnownProps {
  readonly details: SubjectDetails;
  readonly hasHistory: boolean;
  /** After the chain. */
  readonly children?: ComponentChildren;
}

function Known({ details, hasHistory, children }: KnownProps): ComponentChildren {
  const { kind } = details;
  const isOfVolume = kind === 'claim' || kind === 'volume';
  const json = useMemo(() => JSON.stringify(details.object, null, 2), [details.object]);
  return h(
    'div',
    null,
    h(
      Part,
      { title: recorded.includes(kind) ? 'Chain to its storage' : 'How it is' },
      h(ChainView, { links: details.links }),
    ),
    children,
    details.map === undefined
      ? null
      : h(
          Part,
          { title: isOfVolume ? 'Where it can be used' : 'Topology and capacity' },
          h(TopologyMap, { segments: details.map, isOfVolume }),
        ),
    h(
      Part,
      { title: 'Events' },
      details.events.length === 0
        ? h('p', { class: 'dim' }, 'No recent events.')
        : h(Events, { events: details.events }),
    ),
    recorded.includes(kind)
      ? h(
          Part,
          { title: 'What happened' },
          details.steps.length > 0
            ? h(Timeline, { steps: details.steps })
            : h(
                'p',
                { class: 'dim' },
                hasHistory
                  ? 'No steps since the recording started.'
                  : 'Steps are recorded only in berth up, where everything runs in one process.',
              ),
        )
      : null,
    h('details', { class: 'object' }, h('summary', null, 'The object'), h('pre', { tabIndex: 0 }, json)),
  );
}

function Part({ title, children }: { title: string; children?: ComponentChildren }): ComponentChildren {
  return h('section', null, h('h3', null, title), children);
}

function Problem({ state, refresh }: { state: DetailsState; refresh: () => void }): ComponentChildren {
  const { problem, details } = state;
  if (problem === undefined) return null;
  const known = details === undefined ? '' : ' The page shows its last known state.';
  if (problem === 'gone') {
    return h('p', { class: 'notice', role: 'status' }, `It is gone: the cluster has no such object.${known}`);
  }
  if (problem === 'refused') {
    return h(
      'p',
      { class: 'notice', role: 'alert' },
      `This link has expired: open again the one that berth up or berth dashboard printed.${known}`,
    );
  }
  return h(
    'p',
    { class: 'notice', role: 'alert' },
    `Could not ask the server: ${problem.says}.${known} `,
    h('button', { type: 'button', onClick: refresh }, 'Try again'),
  );
}
