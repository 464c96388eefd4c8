// A reporter for Node's test runner: one marked JSON line per event, which test-file.ts separates from the output of
// the tests.
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/** The prefix of each event line; tests do not print it. */
export const EVENT_MARK = '\u0001berth-test ';

export type ReportedEvent =
  | { type: 'pass' | 'fail' | 'skip'; title: string; detail: string }
  /** A test or suite starts or ends, sent at that moment; results come later, in the order of the file. */
  | { type: 'begin' | 'over' }
  /** The process is about to exit normally. */
  | { type: 'end' };

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const titles: string[] = [];
  for await (const event of source) {
    if (event.type === 'test:start') titles[event.data.nesting] = event.data.name;
    const reported = reportedEvent(event, titles);
    // A newline first, in case a test printed an incomplete line.
    if (reported !== undefined) yield `\n${EVENT_MARK}${JSON.stringify(reported)}\n`;
  }
}

function reportedEvent(event: TestEvent, titles: readonly string[]): ReportedEvent | undefined {
  if (event.type === 'test:dequeue') return { type: 'begin' };
  if (event.type === 'test:complete') return { type: 'over' };
  if (event.type === 'test:summary') return { type: 'end' };
  if (event.type !== 'test:pass' && event.type !== 'test:fail') return undefined;
  const { data } = event;
  const title = titles.slice(0, data.nesting + 1).join(' › ');
  const isSuite = data.details.type === 'suite';
  if (event.type === 'test:pass') {
    if (data.skip !== undefined) return { type: 'skip', title, detail: String(data.skip) };
    return isSuite ? undefined : { type: 'pass', title, detail: '' };
  }
  const error: Error & { failureType?: string } = event.data.details.error;
  // A suite or test that failed only because of a nested one adds nothing.
  if (error.failureType === 'subtestsFailed') return undefined;
  return { type: 'fail', title, detail: inspect(error.cause ?? error) };
}
