// The fair queue on a clock that advances only with work.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Clock } from '../../runtime/ports.ts';
import { FairQueue, type Steps } from './fair-queue.ts';

/** A queue whose event loop turns are driven by the test, and whose work takes the time it declares. */
function scripted() {
  let nowMs = 0;
  const immediates: (() => void)[] = [];
  const clock = {
    monotonicMs: () => nowMs,
    setImmediate(callback: () => void) {
      immediates.push(callback);
      return { cancel() {} };
    },
  } as unknown as Clock;
  const fair = new FairQueue(clock);
  const order: string[] = [];
  return {
    fair,
    order,
    work: (name: string, steps: number, stepMs = 1) =>
      function* (): Steps<string> {
        for (let step = 1; step <= steps; step++) {
          nowMs += stepMs;
          order.push(`${name}${step}`);
          if (step < steps) yield;
        }
        return name;
      },
    turn() {
      for (const callback of immediates.splice(0)) callback();
    },
  };
}

describe('the queue of requests', () => {
  test('work runs at once while the queue is empty', async () => {
    const { fair, order, work } = scripted();
    const done = fair.run('a', work('a', 1));
    assert.deepEqual(order, ['a1']);
    assert.equal(await done, 'a');
  });

  test('[DOOR-7] a quiet client goes next, however much a busy one has waiting', async () => {
    const { fair, order, work, turn } = scripted();
    const long = Array.from({ length: 50 }, (_, i) => fair.run('busy', work(`l${i}-`, 20)));
    turn();
    turn();
    order.length = 0;
    const short = fair.run('quiet', work('get', 1));
    turn();
    assert.equal(order[0], 'get1');
    assert.equal(await short, 'get');
    for (let count = 0; count < 2000; count++) turn();
    assert.equal((await Promise.all(long)).length, 50);
  });

  test('[DOOR-7] two busy clients have the same time, one with many requests and one with few', () => {
    const { fair, order, work, turn } = scripted();
    for (let count = 0; count < 40; count++) void fair.run('many', work('m', 10));
    void fair.run('few', work('f', 300));
    order.length = 0;
    for (let count = 0; count < 100; count++) turn();
    const few = order.filter((name) => name.startsWith('f')).length;
    assert.ok(Math.abs(few - order.length / 2) <= 4, `${few} of ${order.length}`);
  });

  test('[DOOR-7] a long step is charged to its client: others go first in the following turns', () => {
    const { fair, order, work, turn } = scripted();
    void fair.run('x', work('x', 5));
    void fair.run('heavy', work('h', 2, 20));
    void fair.run('light', work('l', 30));
    for (let count = 0; count < 30; count++) turn();
    const between = order.slice(order.indexOf('h1'), order.indexOf('h2'));
    assert.ok(between.filter((name) => name.startsWith('l')).length >= 16, order.join(' '));
  });

  test('[DOOR-7] long work ends the turn of the event loop early, small requests share one', () => {
    const { fair, order, work, turn } = scripted();
    void fair.run('x', work('x', 1, 5));
    for (const name of ['a', 'b', 'c', 'd', 'e']) void fair.run('small', work(name, 1, 0.5));
    void fair.run('long', work('l', 10, 0.5));
    order.length = 0;
    turn();
    assert.deepEqual(order, ['a1', 'b1', 'c1', 'd1']);
    order.length = 0;
    turn();
    assert.deepEqual(order, ['l1', 'l2']);
  });

  test('work that throws rejects its promise, and other work continues', async () => {
    const { fair, work, turn } = scripted();
    const failing = fair.once('a', () => {
      throw new Error('no');
    });
    await assert.rejects(failing, /no/);
    const long = fair.run('a', work('a', 3));
    turn();
    turn();
    assert.equal(await long, 'a');
  });

  test('[DOOR-7] a client with too many queued requests gets 429, but work that has begun continues', async () => {
    const { fair, work } = scripted();
    for (let count = 0; count < 520; count++) fair.run('a', work('a', 10)).catch(() => {});
    const refused = (error: unknown) => error instanceof KubeError && error.code === 429;
    await assert.rejects(fair.run('a', work('a', 1)), refused);
    void fair.run('a', work('a', 1), { goesOn: true });
    void fair.run('b', work('b', 1));
  });
});
