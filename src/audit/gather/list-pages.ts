// Everything that a driver lists, page by page, from a driver that may page badly. A list that cannot be trusted is an error,
// since a volume that is left out by mistake would look like one that is gone.

import { codeOf } from '../../csi/csi-error.ts';
import { ExpectedError } from '../../runtime/expected-error.ts';

/** The driver's list cannot be trusted; the message says why. */
export class ListingError extends ExpectedError {
  override readonly name = 'ListingError';

  constructor(message: string, cause?: unknown) {
    super(message, cause);
  }
}

interface Page<T> {
  readonly entries: readonly T[];
  readonly nextToken: string;
}

/** A token may become invalid while volumes come and go: the specification's answer is to start again. */
const MOST_STARTS = 3;
/** In a row: a driver that skips what it does not show gives some. */
const MOST_EMPTY_PAGES = 1_000;

export async function listPages<T>(
  method: string,
  page: (startingToken: string) => Promise<Page<T>>,
): Promise<T[]> {
  for (let start = 1; ; start++) {
    try {
      return await oneRun(method, page);
    } catch (error) {
      if (codeOf(error) !== 'ABORTED' || start >= MOST_STARTS) throw asListingError(method, error);
    }
  }
}

async function oneRun<T>(method: string, page: (startingToken: string) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = [];
  const tokens = new Set<string>();
  let emptyPages = 0;
  let token = '';
  do {
    const { entries, nextToken } = await page(token);
    for (const entry of entries) all.push(entry);
    emptyPages = entries.length === 0 ? emptyPages + 1 : 0;
    if (emptyPages > MOST_EMPTY_PAGES)
      throw new ListingError(`${method} gives one empty page after the other: its list does not end`);
    if (tokens.has(nextToken))
      throw new ListingError(
        `${method} gives the page token ${JSON.stringify(nextToken)} twice: its list does not end`,
      );
    if (nextToken !== '') tokens.add(nextToken);
    token = nextToken;
  } while (token !== '');
  return all;
}

function asListingError(method: string, error: unknown): unknown {
  const code = codeOf(error);
  if (code === undefined) return error;
  return new ListingError(`${method} did not come to its end: ${(error as Error).message}`, error);
}
