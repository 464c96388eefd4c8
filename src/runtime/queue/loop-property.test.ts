import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { silentLog } from '../log/log.ts';
import { seededRandom } from '../random.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import { createLoop } from './create-loop.ts';
import { done, requeueAfter } from './loop.ts';

const KEYS = ['a', 'b', 'c', 'd'];
const HORIZON_MS = 10_000_000;

const step = fc.record({
  afterMs: fc.nat(40),
  key: fc.constantFrom(...KEYS),
  act: fc.oneof(
    fc.record({ kind: fc.constant('add' as const) }),
    fc.record({ kind: fc.constant('addAfter' as const), delayMs: fc.nat(60) }),
    fc.record({ kind: fc.constant('forget' as const) }),
  ),
});

/** What the n-th run of any key does: how long it takes, and how it ends. */
const run = fc.record({
  tookMs: fc.nat(30),
  ending: fc.constantFrom('done', 'fail', 'requeue'),
  delayMs: fc.nat(50),
});

it('never loses, doubles or overlaps a key, whatever the interleaving of adds, delays, failures and stops', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.array(run, { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      fc.option(fc.nat(1000), { freq: 1 }),
      async (steps, runs, workers, restartAtMs) => {
        const clock = new VirtualClock();
        /** The model: when each key must have started by, if at all (`undefined`: no run is owed). */
        const owedBy = new Map<string, number>();
        const running = new Set<string>();
        const owe = (key: string, atMs: number) =>
          owedBy.set(key, Math.min(owedBy.get(key) ?? Number.POSITIVE_INFINITY, atMs));
        const backoffMs = (failures: number) => Math.min(80, 10 * 2 ** failures);
        const failures = new Map<string, number>();
        let runIndex = 0;
        const endedAt = new Map<string, number>();
        /** With a worker for each key and no stop, a key runs the moment it is due. */
        const prompt = workers === KEYS.length && restartAtMs === null;
        /** Collected, since the loop would take what a reconciler throws for a failed run. */
        const wrong: string[] = [];
        const loop = createLoop({
          name: 'property',
          workers,
          clock,
          random: seededRandom(1),
          log: silentLog,
          backoff: { startMs: 10, maxMs: 80 },
          reconcile: async (key, { attempt }) => {
            const dueMs = owedBy.get(key);
            if (running.has(key)) wrong.push(`${key} runs twice at once`);
            if (running.size >= workers) wrong.push('more runs than workers');
            if (dueMs === undefined) wrong.push(`${key} runs though nothing asked for it`);
            else if (dueMs > clock.monotonicMs()) wrong.push(`${key} runs before it is due`);
            else if (prompt && clock.monotonicMs() > Math.max(dueMs, endedAt.get(key) ?? 0)) {
              wrong.push(`${key} was due at ${dueMs}, runs at ${clock.monotonicMs()}`);
            }
            if (attempt !== (failures.get(key) ?? 0)) wrong.push(`${key} runs as attempt ${attempt}`);
            owedBy.delete(key);
            running.add(key);
            const { tookMs, ending, delayMs } = runs[runIndex++] ?? { tookMs: 0, ending: 'done', delayMs: 0 };
            await clock.sleep(tookMs);
            running.delete(key);
            endedAt.set(key, clock.monotonicMs());
            if (ending === 'fail') {
              const count = failures.get(key) ?? 0;
              owe(key, clock.monotonicMs() + backoffMs(count));
              failures.set(key, count + 1);
              throw new Error('scripted');
            }
            failures.delete(key);
            if (ending === 'done') return done;
            owe(key, clock.monotonicMs() + delayMs);
            return requeueAfter(delayMs, 'scripted');
          },
        });

        let abort = new AbortController();
        let loopRun = loop.run(abort.signal);
        const restart = async () => {
          abort.abort();
          await loopRun;
          abort = new AbortController();
          loopRun = loop.run(abort.signal);
        };
        if (restartAtMs !== null) clock.setTimeout(() => void restart(), restartAtMs);

        for (const { afterMs, key, act } of steps) {
          await clock.advance(afterMs);
          switch (act.kind) {
            case 'add':
              owe(key, clock.monotonicMs());
              loop.add(key);
              break;
            case 'addAfter':
              owe(key, clock.monotonicMs() + act.delayMs);
              loop.addAfter(key, act.delayMs);
              break;
            case 'forget':
              // During a run the attempt under way still counts; the model leaves that case to a unit test.
              if (running.has(key)) break;
              failures.delete(key);
              loop.forget(key);
          }
        }
        await clock.runUntilIdle(HORIZON_MS);
        assert.deepEqual(wrong, []);
        assert.deepEqual([...owedBy], [], 'keys that are owed a run and never got it');
        assert.equal(loop.depth(), 0);
        abort.abort();
        await clock.runUntil(loopRun, 1000);
        assert.equal(clock.pendingTimers, 0);
      },
    ),
    { numRuns: 300 },
  );
});
