// What is not well: shown first.

import { type ComponentChildren, h } from 'preact';
import { useState } from 'preact/hooks';
import { describeNotWell, type NotWell } from '../model/not-well.ts';
import { Name } from './cells.ts';
import { Age } from './clock.ts';
import { Mark } from './mark.ts';

/** More than these would push the rest of the page out of view. */
const SHOWN_AT_FIRST = 6;
/** More than these are not readable; the lists can be filtered instead. */
const SHOWN_AT_MOST = 200;

export function NotWellList({
  list,
  hasRows,
}: {
  list: readonly NotWell[];
  hasRows: boolean;
}): ComponentChildren {
  const [isWhole, setWhole] = useState(false);
  const shown = hasRows ? list.slice(0, isWhole ? SHOWN_AT_MOST : SHOWN_AT_FIRST) : [];
  const worst = list[0]?.state ?? 'ok';
  return h(
    'section',
    { class: `not-well ${worst}`, 'data-testid': 'not-well', 'aria-labelledby': 'not-well-title' },
    h('h2', { id: 'not-well-title' }, 'What is not well'),
    h(
      'p',
      { 'aria-live': 'polite', class: 'summary' },
      h(Mark, {
        state: worst,
        text: list.length === 0 ? 'All is well: nothing is stuck.' : describeNotWell(list),
      }),
    ),
    shown.length === 0
      ? null
      : h(
          'ul',
          null,
          shown.map((each) => h(Line, { key: each.key, each })),
        ),
    hasRows && list.length > SHOWN_AT_FIRST
      ? h(
          'button',
          { type: 'button', class: 'quiet', 'aria-expanded': isWhole, onClick: () => setWhole(!isWhole) },
          isWhole ? 'show fewer' : `show ${moreText(list.length)}`,
        )
      : null,
  );
}

function moreText(count: number): string {
  return count > SHOWN_AT_MOST ? `the first ${SHOWN_AT_MOST} of ${count}` : `all ${count}`;
}

function Line({ each }: { each: NotWell }): ComponentChildren {
  const { state, kind, name, route, says, createdMs } = each;
  return h(
    'li',
    { 'data-testid': 'not-well-row', 'data-state': state, 'data-name': name },
    h(Mark, { state }),
    h('span', { class: 'what' }, h('span', { class: 'dim' }, kind), ' ', h(Name, { text: name, route })),
    h('span', { class: 'says' }, says),
    h('span', { class: 'age dim' }, h(Age, { sinceMs: createdMs })),
  );
}
