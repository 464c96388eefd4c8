// A reporter for Node's test runner: one marked JSON line an event, which test-file.ts picks out of what the tests
// themselves print.
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/** Starts each line of ours; no text that a test prints holds it. */
export const EVENT_MARK = '\u0001berth-test ';

export type ReportedEvent =
  | { type: 'pass' | 'fail' | 'skip'; title: string; detail: string }
  /** A test or suite begins and is over, told at that moment; results come later, in the order of the file. */
  | { type: 'begin' | 'over' }
  /** The process is about to end by itself. */
  | { type: 'end' };

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const titles: string[] = [];
  for await (const event of source) {
    if (event.type === 'test:start') titles[event.data.nesting] = event.data.name;
    const reported = reportedEvent(event, titles);
    // A newline first, in case a test left its own line unfinished.
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
  // A suite or test that failed only because of one inside it says nothing new.
  if (error.failureType === 'subtestsFailed') return undefined;
  return { type: 'fail', title, detail: inspect(error.cause ?? error) };
}
