// Runs one test file in a separate process, and kills it with its children at its time limit, so that a test that hangs
// does not block the run.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { EVENT_MARK, type ReportedEvent } from './event-reporter.ts';

export interface FileResult {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly { readonly title: string; readonly detail: string }[];
  /** Reasons of skipped tests, one per test. */
  readonly skips: readonly string[];
  /** What the tests printed. */
  readonly output: string;
}

export interface RunTestFileOptions {
  readonly path: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly testTimeoutMs: number;
  readonly fileTimeoutMs: number;
  /** How long the process may run after its last test. */
  readonly lingerMs: number;
  /** Kill the process at the first test that fails: the caller only asks whether all pass. */
  readonly stopAtFailure?: boolean;
  /** Names of the tests to run; all by default. */
  readonly only?: readonly string[];
}

/** Enough to read what is already in a pipe. */
const DRAIN_MS = 1000;

const reporter = fileURLToPath(new URL('./event-reporter.ts', import.meta.url));

export async function runTestFile(options: RunTestFileOptions): Promise<FileResult> {
  const child = spawn(
    process.execPath,
    [
      ...(options.only ?? []).map(
        (name) => `--test-name-pattern=/^${name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$/`,
      ),
      ...['--test-reporter', reporter, '--test-timeout', String(options.testTimeoutMs), options.path],
    ],
    // A separate process group, so that its children can be killed with it.
    { cwd: options.cwd, env: options.env, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  );
  const events: ReportedEvent[] = [];
  const output: string[] = [];
  let stopped: string | undefined;
  const stop = (why: string) => () => {
    stopped = why;
    killGroup(child.pid);
  };
  const fileTimer = setTimeout(
    stop(`did not end within ${options.fileTimeoutMs / 1000} s and was killed`),
    options.fileTimeoutMs,
  );
  let running = 0;
  let lingerTimer: NodeJS.Timeout | undefined;
  const readLines = async (stream: NodeJS.ReadableStream): Promise<void> => {
    for await (const line of createInterface({ input: stream })) {
      if (!line.startsWith(EVENT_MARK)) {
        output.push(line);
        continue;
      }
      const event = JSON.parse(line.slice(EVENT_MARK.length)) as ReportedEvent;
      events.push(event);
      if (event.type === 'begin') running += 1;
      if (event.type === 'over') running -= 1;
      if (event.type === 'fail' && options.stopAtFailure) stop('stopped at its first failure')();
      clearTimeout(lingerTimer);
      if (running > 0) continue;
      lingerTimer = setTimeout(
        stop('all its tests ended but the process did not: something they started was left open'),
        options.lingerMs,
      );
    }
  };
  const reading = Promise.all([readLines(child.stdout), readLines(child.stderr)]);
  const ending = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('exit', (code, signal) =>
      resolve(code === 0 ? undefined : `ended with ${signal ?? `exit code ${code}`}`),
    );
  });
  clearTimeout(fileTimer);
  // A process that the tests left behind may hold the pipes open: read on for a moment only.
  const drainTimer = setTimeout(() => {
    child.stdout.destroy();
    child.stderr.destroy();
  }, DRAIN_MS);
  await reading;
  clearTimeout(drainTimer);
  clearTimeout(lingerTimer);
  return resultOf({ events, output, ending: stopped ?? ending, wasStopped: stopped !== undefined });
}

function resultOf(run: {
  events: ReportedEvent[];
  output: string[];
  /** The problem with its exit, if any. */
  ending: string | undefined;
  wasStopped: boolean;
}): FileResult {
  const ended = run.events.some((event) => event.type === 'end');
  const tests = run.events.filter((event) => 'title' in event);
  const failures = tests.filter(({ type }) => type === 'fail');
  const skips = tests.filter(({ type }) => type === 'skip');
  const problem = run.ending ?? (ended ? undefined : 'ended before its tests did');
  // A failed test explains a bad exit code; any other problem is a failure of the file.
  if (problem !== undefined && (failures.length === 0 || !ended || run.wasStopped)) {
    failures.push({ type: 'fail', title: 'the file as a whole', detail: problem });
  }
  return {
    passed: tests.filter(({ type }) => type === 'pass').length,
    failed: failures.length,
    skipped: skips.length,
    failures,
    skips: skips.map(({ detail }) => detail),
    output: run.output.join('\n'),
  };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group is empty already.
  }
}
