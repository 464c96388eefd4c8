// Cuts `managedFields` out of an object's JSON before it is parsed: often half of the text, and the costlier half, since hardly
// two objects share its keys. Pure.

const KEY = '"managedFields":[';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/**
 * The text without the first `managedFields`, which servers write into `metadata`, before everything else that could hold
 * one. Text that is not as expected is left as it is: whoever parses it says what is wrong. (Within a string the quote
 * after the name would be escaped, so that the key can be no part of one.)
 */
export function cutManagedFields(text: string): string {
  const at = text.indexOf(KEY);
  if (at < 0) return text;
  const end = endOfArray(text, at + KEY.length - 1);
  if (end < 0) return text;
  if (text.charCodeAt(at - 1) === COMMA) return text.slice(0, at - 1) + text.slice(end);
  const next = text.charCodeAt(end) === COMMA ? end + 1 : end;
  return text.slice(0, at) + text.slice(next);
}

/** One after the bracket that closes the one at `start`; -1 when none does. */
function endOfArray(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        if (at < 0) return -1;
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth++;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        if (--depth === 0) return at + 1;
    }
  }
  return -1;
}

/** The quote that closes the string which opens at `start`; -1 when none does. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}
