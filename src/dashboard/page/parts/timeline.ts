// The steps of an object, from its start; calls in flight show their running time.

import { type ComponentChildren, h } from 'preact';
import type { Step } from '../../page-messages.ts';
import { formatAge, formatSince } from '../model/durations.ts';
import { useNow } from './clock.ts';

export function Timeline({ steps }: { steps: readonly Step[] }): ComponentChildren {
  const beginMs = steps[0]?.atMs ?? 0;
  return h(
    'ol',
    { class: 'timeline' },
    steps.map((step, index) => {
      const isUnderWay = step.seq < 0;
      // Calls in flight have no sequence number; those with the same start and caller are distinguished by position.
      const key = isUnderWay ? `under way ${step.by} ${step.atMs} ${index}` : step.seq;
      return h(
        'li',
        { key, class: stepClass(step), 'data-testid': 'timeline-step' },
        h(
          'span',
          { class: 'at', title: new Date(step.atMs).toLocaleString() },
          formatSince(step.atMs - beginMs),
        ),
        h('span', { class: 'by' }, step.by),
        h('span', { class: 'text' }, h(StepText, step), isUnderWay ? h(UnderWay, step) : null),
      );
    }),
  );
}

export const stepClass = ({ kind, hasFailed, seq }: Step): string =>
  [kind, hasFailed ? 'failed' : '', seq < 0 ? 'under-way' : ''].join(' ').trim();

export function StepText({ text, hasFailed }: Step): ComponentChildren {
  return h('span', null, hasFailed ? h('span', { class: 'mark stuck' }, '✕ failed ') : null, text);
}

function UnderWay({ atMs }: Step): ComponentChildren {
  return h('span', { class: 'mark waits' }, ` … under way for ${formatAge(useNow() - atMs)}`);
}
