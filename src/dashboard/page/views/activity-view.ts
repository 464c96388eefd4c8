// Activity in the cluster: charts and the feed of steps.

import { type ComponentChildren, h } from 'preact';
import { Charts } from '../parts/charts.ts';
import { Feed } from '../parts/feed.ts';
import type { ViewProps } from './view.ts';

export function ActivityView({ model, query, onQuery }: ViewProps): ComponentChildren {
  const hasHistory = model.about?.hasHistory ?? false;
  return h(
    'div',
    null,
    h(Charts, { samples: model.samples, hasHistory }),
    hasHistory
      ? h(Feed, { steps: model.steps, query, onQuery })
      : h(
          'p',
          { class: 'empty' },
          'Steps and calls are recorded only in berth up, where everything runs in one process.',
        ),
  );
}
