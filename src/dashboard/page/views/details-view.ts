// The details of one claim, volume or pod: its chain, its events and its steps.

import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { DriverRow, SubjectDetails, VolumeRow } from '../../page-messages.ts';
import type { DetailsState } from '../model/details-loader.ts';
import { lifeLine } from '../model/life-line.ts';
import type { Model } from '../model/model.ts';
import { nameOf } from '../model/not-well.ts';
import type { Subject } from '../model/routes.ts';
import { rowOf } from '../model/subject-row.ts';
import { ChainView } from '../parts/chain-view.ts';
import { Events } from '../parts/events.ts';
import { Facts } from '../parts/facts.ts';
import { LifeLineView, StageNames } from '../parts/life-line-view.ts';
import { Timeline } from '../parts/timeline.ts';
import { useDetails } from './use-details.ts';

export interface DetailsViewProps {
  readonly model: Model;
  readonly subject: Subject;
  /** The list that the user came from, with its filter. */
  readonly backHash: string;
}

const kinds = { claim: 'Claim', volume: 'Volume', pod: 'Pod' } as const;

export function DetailsView({ model, subject, backHash }: DetailsViewProps): ComponentChildren {
  const row = rowOf(model.tables, subject);
  const lastStep = model.steps.at(-1)?.seq;
  const { state, refresh } = useDetails(subject, [row, lastStep, model.about]);
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
    row === undefined ? null : h(Facts, { found: row, isOf: subject.kind }),
    row === undefined || !('subject' in row) ? null : h(Way, { row, drivers: model.tables.drivers }),
    details === undefined
      ? state.problem === undefined
        ? h('p', { class: 'dim' }, 'Asking…')
        : null
      : h(Known, { details, hasHistory: model.about?.hasHistory ?? false }),
  );
}

function Way({
  row,
  drivers,
}: {
  row: VolumeRow;
  drivers: ReadonlyMap<string, DriverRow>;
}): ComponentChildren {
  const driver = [...drivers.values()].find(({ name }) => name === row.driver);
  return h('div', { class: 'way' }, h(StageNames, null), h(LifeLineView, { stages: lifeLine(row, driver) }));
}

function Known({ details, hasHistory }: { details: SubjectDetails; hasHistory: boolean }): ComponentChildren {
  const json = useMemo(() => JSON.stringify(details.object, null, 2), [details.object]);
  return h(
    'div',
    null,
    h(Part, { title: 'Chain to its storage' }, h(ChainView, { links: details.links })),
    h(
      Part,
      { title: 'Events' },
      details.events.length === 0
        ? h('p', { class: 'dim' }, 'No recent events.')
        : h(Events, { events: details.events }),
    ),
    h(
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
    ),
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
