// Loaded with `--import` into a test file's first run: writes one JSON line per test that passed, with its duration and
// the ranges that V8 counted while it ran. Tests that run at once share what was counted meanwhile.
import { appendFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { afterEach, beforeEach } from 'node:test';
import { takeCoverage } from 'node:v8';
import type { Report } from './covered-code.ts';

interface RunningTest {
  readonly name: string;
  readonly startMs: number;
  durationMs: number;
  readonly reports: Report[];
}

const TICK_MS = 20;

const file = process.env.BERTH_RECORD_FILE;
delete process.env.BERTH_RECORD_FILE;
if (file !== undefined) record(file);
// Processes that the tests start report through NODE_V8_COVERAGE, now and then because tests kill them.
else setInterval(takeCoverage, 1000).unref();

function record(to: string): void {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  /** By full name. */
  const running = new Map<string, RunningTest>();
  /** Passed, but its clean-up may still run: written when the next test starts. */
  let cleaning: RunningTest | undefined;
  let isLoaded = false;
  // Ticks instead of time, as for the limits that follow from it: a busy machine makes no test longer.
  let nowMs = 0;
  setInterval(() => (nowMs += TICK_MS), TICK_MS).unref();

  /** Reads the counters since the last call, which also resets them. */
  const count = (): void => {
    session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
      const report = { result: result.filter(({ url }) => url.includes('/src/')) };
      if (!isLoaded) write({ name: null, durationMs: 0, reports: [report] });
      isLoaded = true;
      for (const { reports } of running.values()) reports.push(report);
      cleaning?.reports.push(report);
    });
  };
  const write = (line: object): void => appendFileSync(to, `${JSON.stringify(line)}\n`);
  const writeCleaned = (): void => {
    if (cleaning !== undefined) write(cleaning);
    cleaning = undefined;
  };

  beforeEach((context) => {
    if (!('fullName' in context) || isNested(context.fullName)) return;
    count();
    writeCleaned();
    const { name, fullName } = context;
    running.set(fullName, { name, startMs: nowMs, durationMs: 0, reports: [] });
  });
  afterEach((context) => {
    const ended = 'fullName' in context ? running.get(context.fullName) : undefined;
    if (ended === undefined || !('fullName' in context)) return;
    // Reading is slow. What it executed alone is read when the next test starts.
    if (running.size > 1) count();
    writeCleaned();
    running.delete(context.fullName);
    ended.durationMs = nowMs - ended.startMs;
    // Not in the types of Node 24.
    if ((context as { passed?: boolean }).passed) cleaning = ended;
  });
  process.on('exit', () => {
    count();
    writeCleaned();
  });
  const isNested = (fullName: string): boolean =>
    running.keys().some((outer) => fullName.startsWith(`${outer} > `));
}
