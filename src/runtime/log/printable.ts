// Makes text safe to show on a terminal. Names, messages and events come from anybody who may write an object, log lines
// from any driver: an escape sequence in one could move the cursor, set the title, recolour or rewrite what stands
// above it. Control characters (C0, DEL, C1) and those that reorder text (bidirectional controls, line separators) are
// shown as JSON escapes, so JSON stays the same JSON.

const UNPRINTABLE = '\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069';
const IN_LINE = new RegExp(`[${UNPRINTABLE}]`, 'g');
const IN_TEXT = new RegExp(`(?![\\n\\t])[${UNPRINTABLE}]`, 'g');

/** Keeps line breaks and tabs. */
export function printableText(text: string): string {
  return text.replace(IN_TEXT, escaped);
}

/** Stays on one line: for a cell, a field, a line of a log. */
export function printableLine(text: string): string {
  return text.replace(IN_LINE, escaped);
}

/** Whether `printableLine` would change it. */
export function isPrintable(text: string): boolean {
  return text.search(IN_LINE) < 0;
}

const SHORT: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

function escaped(character: string): string {
  return SHORT.get(character) ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
