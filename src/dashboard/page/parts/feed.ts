// The live feed of steps, newest first.

import { type ComponentChildren, h } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Step } from '../../page-messages.ts';
import { formatClock } from '../model/durations.ts';
import type { Query } from '../model/routes.ts';
import { filterOf } from '../model/rows.ts';
import { FilterBar } from './filter-bar.ts';
import { StepText, stepClass } from './timeline.ts';

export interface FeedProps {
  /** Oldest first. */
  readonly steps: readonly Step[];
  readonly query: Query;
  readonly onQuery: (query: Query) => void;
}

export function Feed({ steps, query, onQuery }: FeedProps): ComponentChildren {
  const [held, setHeld] = useState<readonly Step[] | undefined>(undefined);
  const kept = held ?? steps;
  const shown = useMemo(() => {
    const matches = filterOf(query.filter);
    return kept.filter(({ by, text, kind }) => matches(`${by} ${text} ${kind}`)).toReversed();
  }, [kept, query.filter]);
  const newer = held === undefined ? 0 : steps.filter(({ seq }) => seq > (held.at(-1)?.seq ?? -1)).length;
  return h(
    'div',
    { class: 'list' },
    h(
      'div',
      { class: 'bars' },
      h(FilterBar, { query, onQuery, hasStates: false, shown: shown.length, total: kept.length }),
      h(
        'button',
        {
          type: 'button',
          'aria-pressed': held !== undefined,
          'data-testid': 'pause',
          onClick: () => setHeld(held === undefined ? steps : undefined),
        },
        held === undefined ? 'Pause' : `Go on (${newer} newer)`,
      ),
    ),
    shown.length === 0
      ? h(
          'p',
          { class: 'empty' },
          kept.length === 0 ? 'Nothing happened yet.' : 'Nothing matches the filter.',
        )
      : null,
    h(
      'ol',
      {
        class: 'timeline feed',
        'data-testid': 'activity-feed',
        tabIndex: 0,
        'aria-label': 'Steps, newest first',
      },
      shown.map((step) =>
        h(
          'li',
          { key: step.seq, class: stepClass(step), 'data-testid': 'step' },
          h('span', { class: 'at' }, formatClock(step.atMs)),
          h('span', { class: 'by' }, step.by),
          h('span', { class: 'text' }, h(StepText, step)),
        ),
      ),
    ),
  );
}
