// All of one claim, volume or pod: why it is as it is, what was said of it, and what happened.

import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { EventLine, SubjectDetails } from '../../told.ts';
import type { DetailsState } from '../model/details-loader.ts';
import type { Model } from '../model/model.ts';
import { nameOf } from '../model/not-well.ts';
import type { Subject } from '../model/routes.ts';
import { rowOf } from '../model/subject-row.ts';
import { ChainView } from '../parts/chain-view.ts';
import { Age } from '../parts/clock.ts';
import { Facts } from '../parts/facts.ts';
import { Timeline } from '../parts/timeline.ts';
import { useDetails } from './use-details.ts';

export interface DetailsViewProps {
  readonly model: Model;
  readonly subject: Subject;
  /** The list from which somebody came, as it was narrowed. */
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
    row === undefined ? null : h(Facts, { found: row }),
    details === undefined
      ? state.problem === undefined
        ? h('p', { class: 'dim' }, 'Asking…')
        : null
      : h(Known, { details, hasHistory: model.about?.hasHistory ?? false }),
  );
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
        ? h('p', { class: 'dim' }, 'Nobody said anything of it lately.')
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
              ? 'Nothing happened to it since the record begins.'
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
  const known = details === undefined ? '' : ' What you see is what was last known of it.';
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

function Events({ events }: { events: readonly EventLine[] }): ComponentChildren {
  return h(
    'div',
    { class: 'scroll free' },
    h(
      'table',
      { class: 'events' },
      h('caption', { class: 'unseen' }, 'Events, newest first'),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          ['Age', 'Type', 'Reason', 'Message', 'By'].map((title) =>
            h('th', { key: title, scope: 'col' }, title),
          ),
        ),
      ),
      h(
        'tbody',
        null,
        events.map((event) =>
          h(
            'tr',
            {
              key: `${event.by} ${event.reason} ${event.message}`,
              class: event.type === 'Warning' ? 'warning' : '',
            },
            h('td', { class: 'number' }, h(Age, { sinceMs: event.atMs })),
            h(
              'td',
              null,
              event.type === 'Warning' ? h('span', { class: 'mark waits' }, '! Warning') : event.type,
            ),
            h(
              'td',
              null,
              event.reason,
              event.count > 1 ? h('span', { class: 'dim' }, ` ×${event.count}`) : null,
            ),
            h('td', { class: 'long' }, event.message),
            h('td', { class: 'name', title: event.by }, event.by),
          ),
        ),
      ),
    ),
  );
}
