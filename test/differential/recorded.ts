// Answers of the official Go functions, recorded as data, and how a test replays them. Each file says which functions of
// which revision gave the answers. Inputs are upstream's own shapes and random ones.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

export interface Recorded<T> {
  /** Repository, revision and functions. */
  source: string;
  /** What the fields mean where their names do not say it. */
  note?: string;
  cases: T;
}

export function recorded<T>(name: string): T {
  const text = readFileSync(new URL(`./${name}.json`, import.meta.url), 'utf8');
  const { source, cases } = JSON.parse(text) as Recorded<T>;
  assert.match(source, /github\.com\/|k8s\.io\//, `${name}.json names its source`);
  return cases;
}

export interface Difference<T> {
  /** The row of docs/compatibility.md. */
  readonly row: string;
  applies(given: T): boolean;
}

/**
 * Every case gives the recorded answer, but for those that a row of docs/compatibility.md explains; and each of these
 * rows is still needed by some case.
 */
export function agree<T>(
  cases: readonly T[],
  { same, differences = [] }: { same(given: T): string | undefined; differences?: readonly Difference<T>[] },
): void {
  const documented = readFileSync(new URL('../../docs/compatibility.md', import.meta.url), 'utf8');
  const needed = new Set<string>();
  const wrong: string[] = [];
  for (const given of cases) {
    const problem = same(given);
    if (problem === undefined) continue;
    const known = differences.find(({ applies }) => applies(given));
    if (known) needed.add(known.row);
    else wrong.push(`${problem}\n    ${JSON.stringify(given)}`);
  }
  assert.equal(
    wrong.length,
    0,
    `${wrong.length} of ${cases.length} differ, such as\n${wrong.slice(0, 5).join('\n')}`,
  );
  for (const { row } of differences) {
    assert(needed.has(row), `no case differs any more by "${row}"`);
    assert(documented.includes(`| ${row} |`), `docs/compatibility.md has no row "${row}"`);
  }
}

/** JSON with the keys of maps in one order. */
export const canonicalText = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
