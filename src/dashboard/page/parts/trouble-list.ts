// What is not well, one entry a cause, in a panel that folds: what to do, recent events, and everything it affects.

import { type ComponentChildren, h } from 'preact';
import { useState } from 'preact/hooks';
import type { State } from '../../page-messages.ts';
import { formatRoute, routeOfChainSubject } from '../model/routes.ts';
import { describeTroubles, type ShownTrouble } from '../model/troubles.ts';
import { Name } from './cells.ts';
import { Age } from './clock.ts';
import { Mark } from './mark.ts';

/** More than these would push the rest of the page out of view. */
const SHOWN_AT_FIRST = 5;
const AFFECTED_AT_FIRST = 8;
/** The choice to fold the panel is kept for the next visit. */
const FOLDED = 'berth-troubles-folded';

export interface TroubleListProps {
  readonly list: readonly ShownTrouble[];
  /** Beside one object's details only the summary is open. */
  readonly isBeside: boolean;
}

export function TroubleList({ list, isBeside }: TroubleListProps): ComponentChildren {
  const [isFolded, setFolded] = useState(() => read() === 'yes');
  const [isWhole, setWhole] = useState(false);
  const worst: State = list[0]?.state ?? 'ok';
  if (list.length === 0) {
    return h(
      'section',
      { class: 'troubles ok', 'data-testid': 'troubles' },
      h(Mark, { state: 'ok', text: 'All is well: nothing is stuck.' }),
    );
  }
  const shown = isWhole ? list : list.slice(0, SHOWN_AT_FIRST);
  const isOpen = !isFolded && !isBeside;
  const onToggle = (event: Event): void => {
    const { open } = event.currentTarget as HTMLDetailsElement;
    if (!isBeside && open !== isOpen) setFolded(!open);
  };
  // At once: the toggle event comes later, and a page that is left before it would forget the choice.
  const onClick = (): void => {
    if (!isBeside) keep(isOpen ? 'yes' : 'no');
  };
  return h(
    'details',
    { class: `troubles ${worst}`, open: isOpen, onToggle, 'data-testid': 'troubles' },
    h(
      'summary',
      { 'data-testid': 'troubles-summary', onClick },
      h('h2', null, 'What is not well'),
      h('span', { 'aria-live': 'polite' }, h(Mark, { state: worst, text: describeTroubles(list) })),
    ),
    h(
      'ul',
      null,
      shown.map((trouble) => h(Trouble, { key: trouble.id, trouble })),
    ),
    list.length > SHOWN_AT_FIRST
      ? h(
          'button',
          { type: 'button', class: 'quiet', 'aria-expanded': isWhole, onClick: () => setWhole(!isWhole) },
          isWhole ? 'show fewer' : `show all ${list.length} causes`,
        )
      : null,
  );
}

function Trouble({ trouble }: { trouble: ShownTrouble }): ComponentChildren {
  const { state, subject, says, todo, said, affects, affected, sinceMs } = trouble;
  const route = routeOfChainSubject(subject) ?? routeOfChainSubject(affects[0] ?? '');
  return h(
    'li',
    { 'data-testid': 'trouble', 'data-state': state },
    h(
      'details',
      null,
      h(
        'summary',
        null,
        h(Mark, { state }),
        h(
          'span',
          { class: 'says' },
          h(Name, { text: subject, ...(route === undefined ? {} : { route }) }),
          ` ${says}`,
        ),
        h('span', { class: 'count dim' }, affected === 1 ? '' : `${affected} objects`),
        h('span', { class: 'age dim' }, h(Age, { sinceMs })),
      ),
      h(
        'div',
        { class: 'advice' },
        todo.length === 0 ? null : h('h3', null, 'What to do'),
        todo.length === 0
          ? null
          : h(
              'ul',
              null,
              todo.map((text) => h('li', { key: text }, text)),
            ),
        said.map((text) => h('p', { key: text, class: 'said' }, text)),
        h(Affected, { affects, affected }),
      ),
    ),
  );
}

function Affected({ affects, affected }: Pick<ShownTrouble, 'affects' | 'affected'>): ComponentChildren {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? affects : affects.slice(0, AFFECTED_AT_FIRST);
  const left = affected - shown.length;
  return h(
    'p',
    { class: 'affects' },
    'Affects ',
    shown.map((name, index) => {
      const route = routeOfChainSubject(name);
      return h(
        'span',
        { key: name },
        index > 0 ? ', ' : '',
        route === undefined
          ? h('span', { class: 'name' }, name)
          : h('a', { class: 'name', href: formatRoute(route) }, name),
      );
    }),
    left === 0
      ? null
      : affects.length > shown.length
        ? h('button', { type: 'button', class: 'quiet', onClick: () => setWhole(true) }, `and ${left} more`)
        : ` and ${left} more: filter a list by state to see them.`,
  );
}

/** A browser may refuse storage: then the panel is open at each visit. */
function read(): string | null {
  try {
    return localStorage.getItem(FOLDED);
  } catch {
    return null;
  }
}

function keep(value: 'yes' | 'no'): void {
  try {
    localStorage.setItem(FOLDED, value);
  } catch {
    // As above.
  }
}
