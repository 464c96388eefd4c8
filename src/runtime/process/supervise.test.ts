import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLog } from '../log/log.ts';
import { seededRandom } from '../random.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import { type Part, supervise } from './supervise.ts';

function world(parts: Part[]) {
  const clock = new VirtualClock();
  const log = memoryLog();
  const stop = new AbortController();
  const random = seededRandom('supervise');
  const running = supervise(parts, { clock, random, log, signal: stop.signal });
  return { clock, log, stop, running };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

test('a part that fails is restarted with backoff; the others are not affected', async () => {
  const starts: number[] = [];
  let steadyStarts = 0;
  const { clock, log, stop, running } = world([
    {
      name: 'weak',
      async run() {
        await undefined;
        starts.push(clock.monotonicMs());
        throw new Error('broken');
      },
    },
    {
      name: 'steady',
      async run(signal, serving) {
        steadyStarts += 1;
        serving();
        await untilAborted(signal);
      },
    },
  ]);
  await clock.advance(4_000);
  assert.deepEqual(
    starts.map((ms) => ms - (starts[0] ?? 0)),
    [0, 500, 1500, 3500],
  );
  assert.equal(steadyStarts, 1);
  assert.match(log.text(), /A part failed; starting it again part=weak inMs=500 err="broken"/);
  stop.abort(new Error('over'));
  await running.ended;
  await assert.rejects(running.serving, /over/);
});

test('all serve once each does, also after a restart', async () => {
  let failures = 0;
  const { clock, stop, running } = world([
    {
      name: 'late',
      async run(signal, serving) {
        if (failures++ === 0) throw new Error('not yet');
        serving();
        await untilAborted(signal);
      },
    },
  ]);
  let serves = false;
  void running.serving.then(() => {
    serves = true;
  });
  await clock.advance(100);
  assert.equal(serves, false);
  await clock.advance(1_000);
  assert.equal(serves, true);
  stop.abort(new Error('over'));
  await running.ended;
});
