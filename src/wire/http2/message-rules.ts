// When a request, a response or its trailers are malformed (RFC 9113, sections 8.2 and 8.3): names, values, pseudo-headers,
// and fields that belong to connections of HTTP/1.1. A malformed message ends its stream with PROTOCOL_ERROR. Pure.

import { malformed } from './http2-error.ts';

/** Visible ASCII without upper case; a colon only at the beginning. */
const NAME = /^:?[!-9;-@[-~]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is its purpose
const NOT_IN_VALUE = /[\x00\r\n]/;

/** Whether a field can stand in a message at all. */
export function isWellFormed(name: string, value: string): boolean {
  return NAME.test(name) && !NOT_IN_VALUE.test(value);
}

export type BlockKind = 'request' | 'response' | 'trailers';

/** The pseudo-headers that a block may have, each once. */
const ALLOWED: Readonly<Record<BlockKind, readonly string[]>> = {
  request: [':method', ':scheme', ':path', ':authority'],
  response: [':status'],
  trailers: [],
};
/** How many of them, from the left, it must have. CONNECT, which has fewer, is of no use to gRPC. */
const REQUIRED: Readonly<Record<BlockKind, number>> = { request: 3, response: 1, trailers: 0 };

const OF_A_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Returns the announced length of the body, if any. Throws a StreamError for a malformed block. `fields` are name, value,
 * name, value, each well-formed by itself.
 */
export function checkBlock(kind: BlockKind, fields: readonly string[], stream: number): number | undefined {
  const allowed = ALLOWED[kind];
  let seen = 0;
  let at = 0;
  for (; at < fields.length && isPseudo(fields[at] as string); at += 2) {
    const which = 1 << allowed.indexOf(fields[at] as string);
    // A shift by -1 gives the sign bit, which no allowed one has.
    if (which < 0) throw malformed(stream, `${fields[at]} has no place in a ${kind} block`);
    if (seen & which) throw malformed(stream, `${fields[at]} comes twice`);
    if (fields[at + 1] === '' && fields[at] !== ':authority')
      throw malformed(stream, `${fields[at]} is empty`);
    seen |= which;
  }
  const required = (1 << REQUIRED[kind]) - 1;
  if ((seen & required) !== required) throw malformed(stream, `a ${kind} lacks a pseudo-header`);
  let length: number | undefined;
  for (; at < fields.length; at += 2) {
    const name = fields[at] as string;
    const value = fields[at + 1] as string;
    if (isPseudo(name)) throw malformed(stream, `${name} comes after other fields`);
    if (OF_A_CONNECTION.has(name) || (name === 'te' && value !== 'trailers')) {
      throw malformed(stream, `${name} belongs to connections of HTTP/1.1`);
    }
    if (name === 'content-length') length = contentLength(value, length, stream);
  }
  return length;
}

function isPseudo(name: string): boolean {
  return name.charCodeAt(0) === 0x3a;
}

function contentLength(value: string, before: number | undefined, stream: number): number {
  const length = /^\d{1,15}$/.test(value) ? Number(value) : undefined;
  if (length === undefined || (before !== undefined && before !== length)) {
    throw malformed(stream, 'content-length is not one number');
  }
  return length;
}

/** A 1xx response; `:status` is the first field. */
export function isInterim(fields: readonly string[]): boolean {
  return fields[1]?.startsWith('1') ?? false;
}
