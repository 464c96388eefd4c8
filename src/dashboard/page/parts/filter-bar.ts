// The filter of a list: words and state.

import { type ComponentChildren, h } from 'preact';
import type { State } from '../../page-messages.ts';
import type { Query } from '../model/routes.ts';

export interface FilterBarProps {
  readonly query: Query;
  readonly onQuery: (query: Query) => void;
  /** Whether its rows can be filtered by state. */
  readonly hasStates: boolean;
  readonly shown: number;
  readonly total: number;
}

export function FilterBar({ query, onQuery, hasStates, shown, total }: FilterBarProps): ComponentChildren {
  const onInput = (event: Event): void =>
    onQuery({ ...query, filter: (event.currentTarget as HTMLInputElement).value });
  return h(
    'div',
    { class: 'bar', role: 'search' },
    h(
      'label',
      null,
      h('span', { class: 'unseen' }, 'Filter'),
      h('input', {
        type: 'search',
        placeholder: 'Filter (press /)',
        value: query.filter,
        onInput,
        spellcheck: false,
        autocomplete: 'off',
        'aria-keyshortcuts': '/',
        'data-testid': 'filter',
      }),
    ),
    hasStates ? h(StateChoice, { query, onQuery }) : null,
    h(
      'span',
      { class: 'dim', role: 'status' },
      shown === total ? `${total} in all` : `${shown} of ${total}`,
      shown === total
        ? null
        : h(
            'button',
            {
              type: 'button',
              class: 'quiet',
              onClick: () => onQuery({ ...query, filter: '', state: undefined }),
            },
            'show all',
          ),
    ),
  );
}

function StateChoice({ query, onQuery }: Pick<FilterBarProps, 'query' | 'onQuery'>): ComponentChildren {
  const choices: readonly (readonly [State | undefined, string])[] = [
    [undefined, 'any state'],
    ['stuck', 'stuck'],
    ['waits', 'waits'],
    ['ok', 'ok'],
  ];
  const onChange = (event: Event): void => {
    const { value } = event.currentTarget as HTMLSelectElement;
    onQuery({ ...query, state: choices.find(([state]) => state === value)?.[0] });
  };
  return h(
    'label',
    null,
    h('span', { class: 'unseen' }, 'State'),
    h(
      'select',
      { value: query.state ?? '', onChange, 'data-testid': 'state-filter' },
      choices.map(([state, text]) => h('option', { key: text, value: state ?? '' }, text)),
    ),
  );
}
