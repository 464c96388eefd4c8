import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Clock } from '../ports.ts';
import { whileFast } from './while-fast.ts';

describe('calls that are made right here while they are fast', () => {
  const world = () => {
    let nowMs = 0;
    const made: string[] = [];
    const clock = { monotonicMs: () => nowMs } as Clock;
    const brief = whileFast(clock);
    const call = (name: string) =>
      brief<[number], string>(
        (tookMs) => {
          nowMs += tookMs;
          made.push(`${name} here`);
          if (tookMs === 7) throw new Error('the call failed');
          return name;
        },
        async () => {
          made.push(`${name} in a thread`);
          return name;
        },
      );
    const pass = (ms: number) => {
      nowMs += ms;
    };
    return { made, call, pass };
  };

  it('run in this thread while each takes microseconds', async () => {
    const { made, call } = world();
    const mkdir = call('mkdir');
    assert.equal(await mkdir(0.02), 'mkdir');
    await mkdir(0.02);
    assert.deepEqual(made, ['mkdir here', 'mkdir here']);
  });

  it('all run in threads for a while after a slow one', async () => {
    const { made, call, pass } = world();
    const mkdir = call('mkdir');
    const rmdir = call('rmdir');
    await mkdir(20);
    await rmdir(0.02);
    pass(60);
    await rmdir(0.02);
    assert.deepEqual(made, ['mkdir here', 'rmdir in a thread', 'rmdir here']);
  });

  it('run in threads after a slow failure, and reject like a promise', async () => {
    const { made, call } = world();
    const mkdir = call('mkdir');
    await assert.rejects(mkdir(7), { message: 'the call failed' });
    await mkdir(0.02);
    assert.deepEqual(made, ['mkdir here', 'mkdir in a thread']);
  });
});
