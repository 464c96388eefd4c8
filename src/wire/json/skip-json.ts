// Walks over JSON text without decoding it. For text that a parser has accepted or will check: of what is no JSON it only
// promises not to read past the end.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** One after the quote that closes the string which opens at `start`; -1 when none does. */
export function endOfString(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start + 1; at < end; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at++;
  }
  return -1;
}

/** One after the bracket that closes the array or object which opens at `start`; -1 when none does. */
export function endOfNested(bytes: Uint8Array, start: number, end: number): number {
  let depth = 0;
  let isText = false;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (isText) {
      if (byte === QUOTE) isText = false;
      else if (byte === BACKSLASH) at++;
    } else if (byte === QUOTE) {
      isText = true;
    } else if ((byte | 0x20) === 0x7b) {
      // [ and { differ in one bit.
      depth++;
    } else if ((byte | 0x20) === 0x7d && --depth === 0) {
      return at + 1;
    }
  }
  return -1;
}

/** One after the number, `true`, `false` or `null` that begins at `start`. */
export function endOfWord(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && isWordByte(bytes[at] as number)) at++;
  return at;
}

/** Letters, digits, sign, point. */
function isWordByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x41 && byte <= 0x7a && byte !== 0x5b && byte !== 0x5d) ||
    byte === 0x2b ||
    byte === 0x2d ||
    byte === 0x2e
  );
}

export function skipSpace(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && isSpace(bytes[at] as number)) at++;
  return at;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
