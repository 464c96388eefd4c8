// Runs the steps of `berth try` in order, each under a deadline, and reports each as it ends. A step whose predecessor did
// not pass is skipped. Never rejects because of the driver; cleaning up after an early end is the caller's.

import type { Report, Verdict } from '../check/report/reporter.ts';
import { startDeadline } from '../runtime/time/deadline.ts';
import { explain, onHopelessCall } from './driver-words.ts';
import { StepFailure, type TryStep } from './try-step.ts';
import { trySteps } from './try-steps.ts';
import { type TryOptions, TryWorld } from './try-world.ts';

export async function runTry(
  options: TryOptions & { timeoutMs: number; report: Report; signal: AbortSignal },
): Promise<void> {
  const { report, signal } = options;
  const world = new TryWorld(options);
  const passed = new Set<string>();
  for (const step of trySteps) {
    const verdict = await verdictOf(step, world, passed, options);
    signal.throwIfAborted();
    if (verdict.state === 'passed') passed.add(step.title);
    report.add({ group: 'A volume', title: step.title }, verdict);
  }
}

async function verdictOf(
  step: TryStep,
  world: TryWorld,
  passed: ReadonlySet<string>,
  { timeoutMs, clock, cluster, signal }: TryOptions & { timeoutMs: number; signal: AbortSignal },
): Promise<Verdict> {
  const why = step.lacks?.(world);
  if (why !== undefined) return { state: 'skipped', why };
  const before = step.after.find((title) => !passed.has(title));
  if (before !== undefined) return { state: 'skipped', why: `it needs "${before}", which did not pass` };
  const { book, server } = cluster;
  const startMs = clock.monotonicMs();
  const sinceMs = book.nowMs();
  const deadline = startDeadline({
    clock,
    delayMs: timeoutMs,
    reason: () => new StepFailure(`not done within ${timeoutMs / 1000} s`),
    parent: signal,
  });
  const hopeless = new AbortController();
  const unfollow = onHopelessCall(book, step.calls, (words) => hopeless.abort(new StepFailure(words)));
  world.signal = AbortSignal.any([deadline.signal, hopeless.signal]);
  try {
    const note = await step.run(world);
    const ms = clock.monotonicMs() - startMs;
    return { state: 'passed', ms, left: [], ...(note !== undefined && { note }) };
  } catch (error) {
    signal.throwIfAborted();
    const ms = clock.monotonicMs() - startMs;
    const { message } = error as Error;
    const isOver = deadline.signal.aborted && !hopeless.signal.aborted;
    const words = isOver ? explain({ book, reader: server.reader, methods: step.calls, sinceMs }) : '';
    return { state: 'failed', ms, why: words === '' ? message : `${message}: ${words}`, left: [] };
  } finally {
    deadline.cancel();
    unfollow();
  }
}
