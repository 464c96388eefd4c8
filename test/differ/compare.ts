// Sends a case to both servers, step by step, and says at which step the answers differ.

import type { Case } from './directed.ts';
import { type Answer, type Server, Side, type Step } from './exchange.ts';
import { differences, normalised } from './normalise.ts';

export interface Pair {
  readonly ours: Server;
  readonly theirs: Server;
}

export interface Comparison {
  readonly case: Case;
  /** Steps taken: a difference ends the case, because from there on the states differ. */
  readonly taken: number;
  readonly step: Step;
  readonly ours: Answer;
  readonly theirs: Answer;
  readonly differences: readonly string[];
}

/** `until`: which difference ends the case. A directed case goes on while the codes are the same. */
export async function compare(pair: Pair, given: Case, until: 'code' | 'any'): Promise<Comparison> {
  const sides = [new Side(pair.ours), new Side(pair.theirs)] as const;
  let result: Comparison | undefined;
  for (const [index, step] of given.steps.entries()) {
    const [ours, theirs] = await Promise.all([sides[0].take(step), sides[1].take(step)]);
    result = {
      case: given,
      taken: index + 1,
      step,
      ours,
      theirs,
      differences: differences(normalised(ours), normalised(theirs)),
    };
    if (until === 'any' ? result.differences.length > 0 : ours.code !== theirs.code) break;
  }
  const { cleanup } = given;
  if (cleanup !== undefined) await Promise.all(sides.map((side) => side.take(cleanup)));
  if (result === undefined) throw new Error(`the case ${given.id} has no steps`);
  return result;
}

/** Runs all with limited concurrency, in order. */
export async function inTurns<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const at = next++;
      results[at] = await work(items[at] as T, at);
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  return results;
}

/** Leaves out steps one by one while the last one still differs. */
export async function shrink(
  pair: Pair,
  found: Comparison,
  remake: (keep: (index: number) => boolean) => Case,
): Promise<Comparison> {
  const kept = new Set(Array.from({ length: found.taken }, (_, index) => index));
  let smallest = found;
  for (let index = found.taken - 2; index >= 0; index--) {
    kept.delete(index);
    const tried = await compare(
      pair,
      remake((at) => kept.has(at)),
      'any',
    );
    if (tried.differences.length > 0 && tried.taken === kept.size) smallest = tried;
    else kept.add(index);
  }
  return smallest;
}
