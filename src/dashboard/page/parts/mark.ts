// The state of an object as a symbol and a word: never by colour alone.

import { type ComponentChildren, h } from 'preact';
import type { State } from '../../page-messages.ts';

export interface MarkProps {
  readonly state: State;
  /** Replaces the state's own name. */
  readonly text?: string;
}

const symbols: Readonly<Record<State, string>> = { ok: '✓', waits: '…', stuck: '✕' };

export function Mark({ state, text = state }: MarkProps): ComponentChildren {
  return h(
    'span',
    { class: `mark ${state}` },
    h('span', { class: 'symbol', 'aria-hidden': true }, symbols[state]),
    h('span', { class: 'word' }, text),
  );
}
