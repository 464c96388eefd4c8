// The events of an object, newest first.

import { type ComponentChildren, h } from 'preact';
import type { EventLine } from '../../page-messages.ts';
import { Age } from './clock.ts';

export function Events({ events }: { events: readonly EventLine[] }): ComponentChildren {
  return h(
    'ol',
    { class: 'timeline', 'aria-label': 'Events, newest first' },
    events.map(({ atMs, type, by, reason, message, count }) =>
      h(
        'li',
        { key: `${by} ${reason} ${message}`, 'data-testid': 'event' },
        h('span', { class: 'at' }, h(Age, { sinceMs: atMs })),
        h('span', { class: 'by' }, by),
        h(
          'span',
          { class: 'text' },
          type === 'Warning' ? h('span', { class: 'mark waits' }, '! Warning ') : null,
          h('b', null, reason),
          count > 1 ? h('span', { class: 'dim' }, ` ×${count}`) : null,
          ` ${message}`,
        ),
      ),
    ),
  );
}
