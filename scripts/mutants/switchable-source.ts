// A source text that holds several mutants, of which `globalThis.berthMutant` chooses one while the program runs, so that
// one process can judge many. Pure.
import type { Mutation } from './mutation-sites.ts';

/** `mutants`: by the number that chooses them; all of this source. */
export function switchableSource(text: string, mutants: ReadonlyMap<number, Mutation>): string {
  const ordered = [...mutants].toSorted(
    ([, { whole: a }], [, { whole: b }]) => a.start - b.start || b.end - a.end,
  );
  return render({ start: 0, end: text.length }, ordered);

  function render(range: { start: number; end: number }, within: readonly [number, Mutation][]): string {
    let result = '';
    let position = range.start;
    let left = within;
    for (let [first] = left; first !== undefined; [first] = left) {
      const [number, { whole }] = first;
      const inner = left.slice(1).filter(([, other]) => other.whole.end <= whole.end);
      left = left.slice(1 + inner.length);
      result += text.slice(position, whole.start) + switched(number, whole, render(whole, inner));
      position = whole.end;
    }
    return result + text.slice(position, range.end);
  }
}

function switched(number: number, { after, isStatement }: Mutation['whole'], original: string): string {
  return isStatement
    ? `{ if (globalThis.berthMutant !== ${number}) ${original} }`
    : `(globalThis.berthMutant === ${number} ? (${after}) : (${original}))`;
}
