// Loaded with `--import` into a test file's first run: writes one JSON line per test that passed, with its duration and
// the ranges that V8 counted while it ran. Tests that run at once share what was counted meanwhile.
import { appendFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { afterEach, beforeEach } from 'node:test';
import type { Report } from './covered-code.ts';

interface RunningTest {
  readonly name: string;
  readonly startMs: number;
  readonly reports: Report[];
}

const file = process.env.BERTH_RECORD_FILE;
// Processes that the tests start report through NODE_V8_COVERAGE.
delete process.env.BERTH_RECORD_FILE;
if (file !== undefined) record(file);

function record(to: string): void {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  /** By full name. */
  const running = new Map<string, RunningTest>();
  let isLoaded = false;

  /** Counters since the last call, which also resets them. */
  const count = (): void => {
    session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
      const report = { result: result.filter(({ url }) => url.includes('/src/')) };
      if (!isLoaded) write({ name: null, durationMs: 0, reports: [report] });
      isLoaded = true;
      for (const { reports } of running.values()) reports.push(report);
    });
  };
  const write = (line: object): void => appendFileSync(to, `${JSON.stringify(line)}\n`);

  beforeEach((context) => {
    if (!('fullName' in context) || isNested(context.fullName)) return;
    count();
    running.set(context.fullName, { name: context.name, startMs: performance.now(), reports: [] });
  });
  afterEach((context) => {
    const ended = 'fullName' in context ? running.get(context.fullName) : undefined;
    if (ended === undefined || !('fullName' in context)) return;
    count();
    running.delete(context.fullName);
    const { name, startMs, reports } = ended;
    // Not in the types of Node 24.
    const { passed } = context as { passed?: boolean };
    if (passed) write({ name, durationMs: performance.now() - startMs, reports });
  });
  const isNested = (fullName: string): boolean =>
    running.keys().some((outer) => fullName.startsWith(`${outer} > `));
}
