// Stands in for `node:test` in a process that judges mutants: only the tests that were chosen run, and none after the
// first failure.
import { describe as realDescribe, suite as realSuite, test as realTest } from 'node:test';

export { after, afterEach, before, beforeEach, mock } from 'node:test';

/** What the process wants of the test file that it imports. */
export const choice = {
  names: new Set<string>(),
  /** Tests and suites at the top level that have not ended. */
  pending: 0,
  depth: 0,
  failed: undefined as string | undefined,
};

type Register = (...args: unknown[]) => Promise<void>;

const chosen =
  (register: Register): Register =>
  (...args) => {
    if (!choice.names.has(String(args[0]))) return Promise.resolve();
    if (choice.depth === 0) choice.pending += 1;
    const run = args.at(-1) as (...given: unknown[]) => unknown;
    const unlessFailed = (...given: unknown[]): unknown =>
      choice.failed === undefined ? run(...given) : undefined;
    return register(...args.slice(0, -1), unlessFailed);
  };

const nesting =
  (register: Register): Register =>
  (...args) => {
    if (choice.depth === 0) choice.pending += 1;
    const run = args.at(-1) as () => unknown;
    const nested = (): unknown => {
      choice.depth += 1;
      try {
        return run();
      } finally {
        choice.depth -= 1;
      }
    };
    return register(...args.slice(0, -1), nested);
  };

export const test = Object.assign(chosen(realTest as Register), realTest);
export const it = test;
export const describe = Object.assign(nesting(realDescribe as Register), realDescribe);
export const suite = Object.assign(nesting(realSuite as Register), realSuite);
export default test;
