// Pages of a list that may change between calls. A token names the last entry of its page, not a position: entries that
// come or go meanwhile neither hide nor repeat others. Pure.

import { refuse } from './refuse.ts';

export interface PageRequest {
  /** Zero: as many as the driver likes. */
  maxEntries: number;
  startingToken: string;
}

export interface Page<T> {
  items: T[];
  nextToken: string;
}

const PREFIX = 'after-';

/** `read(after, limit)` gives up to `limit` items whose key is greater than `after`, in the order of their keys. */
export function paginate<T>(
  request: PageRequest,
  options: {
    read: (after: string, limit: number) => T[];
    keyOf: (item: T) => string;
    /** Even if the caller sets no limit. */
    pageLimit?: number;
  },
): Page<T> {
  const pageLimit = options.pageLimit ?? 10_000;
  const limit = request.maxEntries === 0 ? pageLimit : Math.min(request.maxEntries, pageLimit);
  // One more than asked for tells whether there is a next page.
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

/** ABORTED tells the caller to start again from the beginning, as the spec has it. */
export function keyFromToken(token: string): string {
  const key = token.startsWith(PREFIX) ? Buffer.from(token.slice(PREFIX.length), 'base64url').toString() : '';
  if (key === '' || tokenAfter(key) !== token) {
    throw refuse.aborted(
      `starting_token ${JSON.stringify(token)} is not one that this driver gave; list from the start`,
    );
  }
  return key;
}
