// Properties of a JSON text without parsing it: nesting depth, number of keys, whether one of them is `__proto__`, and
// duplicate keys. The text may be invalid: JSON.parse decides that.

export interface JsonShape {
  readonly depth: number;
  readonly keys: number;
  /** No Kubernetes field has this name, and code that copies properties must never see it. */
  readonly hasProto: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

export function shapeOf(text: string): JsonShape {
  // Any letter of it can be escaped.
  const mayHaveProto = text.includes('__proto__') || text.includes('\\u');
  let depth = 0;
  let deepest = 0;
  let keys = 0;
  let hasProto = false;
  let start = 0;
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        start = at;
        at = endOfString(text, at);
        end = at;
        break;
      case COLON:
        keys++;
        if (mayHaveProto) hasProto ||= keyOf(text, start, end) === '__proto__';
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++depth > deepest) deepest = depth;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        break;
    }
  }
  return { depth: deepest, keys, hasProto };
}

/** The index of the closing quote of the string that begins at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  let at = text.indexOf('"', start + 1);
  while (at >= 0 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at < 0 ? text.length : at;
}

function isEscaped(text: string, quote: number): boolean {
  let slashes = 0;
  while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes++;
  return slashes % 2 === 1;
}

function keyOf(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end);
  if (!raw.includes('\\')) return raw;
  try {
    return JSON.parse(`"${raw}"`) as string;
  } catch {
    return raw;
  }
}

/** As many as kube-apiserver names. */
const MAX_REPORTED = 100;

/** The paths of duplicate keys, such as `spec.volumes[0].name`, each once. `text` is valid JSON. */
export function duplicateFields(text: string): string[] {
  const found = new Set<string>();
  const open: { path: string; seen: Set<string> | undefined; index: number; key: string }[] = [];
  let start = 0;
  let end = 0;
  for (let at = 0; at < text.length && found.size < MAX_REPORTED; at++) {
    const inner = open.at(-1);
    switch (text.charCodeAt(at)) {
      case QUOTE:
        start = at;
        at = endOfString(text, at);
        end = at;
        break;
      case COLON: {
        if (inner?.seen === undefined) break;
        inner.key = keyOf(text, start, end);
        if (inner.seen.has(inner.key)) found.add(pathIn(inner));
        inner.seen.add(inner.key);
        break;
      }
      case COMMA:
        if (inner !== undefined) inner.index++;
        break;
      case OPEN_BRACE:
        open.push({ path: inner === undefined ? '' : pathIn(inner), seen: new Set(), index: 0, key: '' });
        break;
      case OPEN_BRACKET:
        open.push({ path: inner === undefined ? '' : pathIn(inner), seen: undefined, index: 0, key: '' });
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        open.pop();
        break;
    }
  }
  return [...found];
}

function pathIn(inner: { path: string; seen: Set<string> | undefined; index: number; key: string }): string {
  const { path, seen, index, key } = inner;
  if (seen === undefined) return `${path}[${index}]`;
  return path === '' ? key : `${path}.${key}`;
}
