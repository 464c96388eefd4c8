// Reads a long JSON list one item at a time, so that its text is never one string and its items never exist twice.

import { endOfNested, endOfString, skipSpace } from './skip-json.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;

export interface ReadItemsOptions {
  read(item: Buffer): unknown;
  /** Called after every thousand items: other work has its turn until it resolves. */
  pause(): Promise<void>;
}

const SLICE = 1000;
/** Nothing follows the items: another list of the same name would be the one that counts. */
const LAST = /^\]\s*\}\s*$/;

/**
 * The value of `{…, "items": [{…}, …]}`. A document that is not of this form, valid or not, is left to the parser as a whole,
 * whose error is thrown.
 */
export async function readItems(body: Buffer, { read, pause }: ReadItemsOptions): Promise<unknown> {
  const start = startOfItems(body);
  const items: unknown[] = [];
  let at = start < 0 ? -1 : skipSpace(body, start + 1, body.length);
  while (body[at] === OPEN_OBJECT) {
    const to = endOfNested(body, at, body.length);
    if (to < 0) break;
    items.push(read(body.subarray(at, to)));
    if (items.length % SLICE === 0) await pause();
    at = skipSpace(body, to, body.length);
    if (body[at] !== COMMA) break;
    const next = skipSpace(body, at + 1, body.length);
    // Otherwise it stays at the comma, which does not end a list.
    if (body[next] !== OPEN_OBJECT) break;
    at = next;
  }
  const rest = body[at] === CLOSE_ARRAY ? body.toString('utf8', at) : '';
  if (!LAST.test(rest)) return JSON.parse(body.toString('utf8'));
  const list = JSON.parse(`${body.toString('utf8', 0, start)}[${rest}`) as { items: unknown };
  list.items = items;
  return list;
}

/** Where the array of the name `items` of the outermost object opens; -1 when there is none. */
function startOfItems(body: Buffer): number {
  const end = body.length;
  let at = skipSpace(body, 0, end);
  if (body[at] !== OPEN_OBJECT) return -1;
  at = skipSpace(body, at + 1, end);
  while (body[at] === QUOTE) {
    const nameEnd = endOfString(body, at, end);
    if (nameEnd < 0) return -1;
    const colon = skipSpace(body, nameEnd, end);
    const value = skipSpace(body, colon + 1, end);
    if (body.toString('latin1', at, nameEnd) === '"items"') return body[value] === OPEN_ARRAY ? value : -1;
    at = skipSpace(body, endOfValue(body, value), end);
    if (body[at] !== COMMA) return -1;
    at = skipSpace(body, at + 1, end);
  }
  return -1;
}

/** The body's length when the value does not end. */
function endOfValue(body: Buffer, start: number): number {
  const first = body[start];
  const end = body.length;
  if (first === QUOTE || first === OPEN_OBJECT || first === OPEN_ARRAY) {
    const to = first === QUOTE ? endOfString(body, start, end) : endOfNested(body, start, end);
    return to < 0 ? end : to;
  }
  const comma = body.indexOf(COMMA, start);
  return comma < 0 ? end : comma;
}
