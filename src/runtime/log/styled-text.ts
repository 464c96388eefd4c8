// Text with tones, for output that may be a terminal with colours. Pure.

import { printableLine } from './printable.ts';

/** How a piece of text is to be shown where there are colours. */
export type Tone = 'plain' | 'faint' | 'strong' | 'good' | 'bad' | 'warn';

export interface Piece {
  readonly text: string;
  readonly tone: Tone;
}

/** SGR parameters. */
const CODES: Readonly<Record<Tone, string>> = {
  plain: '',
  faint: '2',
  strong: '1',
  good: '32',
  bad: '31',
  warn: '33',
};

/** One line, control characters escaped; trailing spaces are left out. */
export function styledLine(pieces: readonly Piece[], inColour: boolean): string {
  const last = pieces.length - 1;
  return pieces
    .map(({ text, tone }, index) => {
      const safe = printableLine(index === last ? text.trimEnd() : text);
      return inColour && tone !== 'plain' ? `\u001b[${CODES[tone]}m${safe}\u001b[0m` : safe;
    })
    .join('');
}

/** As https://no-color.org has it; and a terminal that says that it can do nothing is believed. */
export function wantsColour(isTTY: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTTY && !env.NO_COLOR && env.TERM !== 'dumb';
}
