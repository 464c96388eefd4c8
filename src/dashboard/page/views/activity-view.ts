// Activity in the cluster: charts and the feed of steps.

import { type ComponentChildren, h } from 'preact';
import { useState } from 'preact/hooks';
import { Charts } from '../parts/charts.ts';
import { Feed } from '../parts/feed.ts';
import { useHistory } from './use-history.ts';
import type { ViewProps } from './view.ts';

export function ActivityView({ model, query, onQuery }: ViewProps): ComponentChildren {
  const hasHistory = model.about?.hasHistory ?? false;
  const [isAll, setAll] = useState(false);
  const history = useHistory(isAll);
  const samples = isAll ? (history ?? []) : model.samples;
  return h(
    'div',
    null,
    hasHistory
      ? h(
          'div',
          { class: 'bar' },
          h(
            'label',
            null,
            h('span', { class: 'unseen' }, 'Time'),
            h(
              'select',
              {
                value: isAll ? 'all' : 'recent',
                onChange: (event: Event) =>
                  setAll((event.currentTarget as HTMLSelectElement).value === 'all'),
                'data-testid': 'range',
              },
              h('option', { value: 'recent' }, 'last 10 minutes'),
              h('option', { value: 'all' }, 'everything recorded'),
            ),
          ),
        )
      : null,
    h(Charts, { samples, hasHistory }),
    hasHistory
      ? h(Feed, { steps: model.steps, query, onQuery })
      : h(
          'p',
          { class: 'empty' },
          'Steps and calls are recorded only in berth up, where everything runs in one process.',
        ),
  );
}
