// Pagination of a list that may change between calls. A token is the key of the last entry of its page, not a position,
// so concurrent inserts and deletes neither skip nor repeat other entries. Pure.

import { refuse } from './refuse.ts';

export interface PageRequest {
  /** Zero: no limit from the caller. */
  maxEntries: number;
  startingToken: string;
}

export interface Page<T> {
  items: T[];
  nextToken: string;
}

const PREFIX = 'after-';

/** `read(after, limit)` returns up to `limit` items with a key greater than `after`, in key order. */
export function paginate<T>(
  request: PageRequest,
  options: {
    read: (after: string, limit: number) => T[];
    keyOf: (item: T) => string;
    /** Applies even when the caller sets no limit. */
    pageLimit?: number;
  },
): Page<T> {
  const pageLimit = options.pageLimit ?? 10_000;
  const limit = request.maxEntries === 0 ? pageLimit : Math.min(request.maxEntries, pageLimit);
  // Reads one more than the page holds, to know whether there is a next page.
  const items = options.read(
    request.startingToken === '' ? '' : keyFromToken(request.startingToken),
    limit + 1,
  );
  const last = items[limit - 1];
  if (items.length <= limit || last === undefined) return { items, nextToken: '' };
  return { items: items.slice(0, limit), nextToken: tokenAfter(options.keyOf(last)) };
}

export function tokenAfter(key: string): string {
  return PREFIX + Buffer.from(key).toString('base64url');
}

/** By the spec, ABORTED tells the caller to list from the beginning. */
export function keyFromToken(token: string): string {
  const key = token.startsWith(PREFIX) ? Buffer.from(token.slice(PREFIX.length), 'base64url').toString() : '';
  if (key === '' || tokenAfter(key) !== token) {
    throw refuse.aborted(
      `starting_token ${JSON.stringify(token)} was not issued by this driver; list from the start`,
    );
  }
  return key;
}
