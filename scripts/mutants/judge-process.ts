// A process that judges mutants one after the other: it imports a test file anew for each, while the sources, which hold
// all mutants (switchable-source.ts), stay loaded. Also its own test reporter, which learns of each test's end.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import type { TestEvent } from 'node:test/reporters';
import { setTimeout } from 'node:timers/promises';
import { choice } from './chosen-tests.ts';

export interface JudgeTask {
  /** Of the test file. */
  readonly url: string;
  readonly names: readonly string[];
  /** Undefined: no change. The file is for processes that the tests start. */
  readonly mutant: { readonly number: number; readonly file: string; readonly url: string } | undefined;
  /** A mutant that waits for ever is detected by this. */
  readonly limitMs: number;
}

export type JudgeAnswer = { is: 'passed' } | { is: 'failed'; name: string } | { is: 'hung' };

const TICK_MS = 20;

/** Absolute URL to source text. */
const sources = JSON.parse(readFileSync(process.env.BERTH_MUTANT_SOURCES ?? '', 'utf8')) as Record<
  string,
  string
>;
const standIn = new URL('./chosen-tests.ts', import.meta.url).href;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'node:test' && context.parentURL !== standIn
      ? { url: standIn, format: 'module-typescript', shortCircuit: true }
      : next(specifier, context),
  load: (url, context, next) =>
    sources[url] === undefined
      ? next(url, context)
      : { format: 'module-typescript', source: sources[url], shortCircuit: true },
});

let imports = 0;

async function judge({ url, names, mutant, limitMs }: JudgeTask): Promise<JudgeAnswer> {
  Object.assign(choice, { names: new Set(names), pending: 0, depth: 0, failed: undefined });
  Object.assign(globalThis, { berthMutant: mutant?.number });
  process.env.BERTH_MUTANT_FILE = mutant?.file ?? '';
  process.env.BERTH_MUTANT_URL = mutant?.url ?? '';
  await import(`${url}?${++imports}`);
  // Ticks instead of time: a process that gets no CPU does not tick, so a busy machine fails no test.
  for (let passedMs = 0; choice.pending > 0; passedMs += TICK_MS) {
    if (passedMs > limitMs) return { is: 'hung' };
    await setTimeout(TICK_MS);
  }
  return choice.failed === undefined ? { is: 'passed' } : { is: 'failed', name: choice.failed };
}

process.on('message', (task: JudgeTask) => {
  judge(task).then(
    (answer) => process.send?.(answer),
    (error: unknown) => process.send?.({ is: 'failed', name: String(error) }),
  );
});
process.on('disconnect', () => process.exit());

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:complete') continue;
    const { name, nesting, details } = event.data;
    if (!details.passed && choice.names.has(name)) choice.failed ??= name;
    if (nesting === 0) choice.pending -= 1;
    yield '';
  }
}
