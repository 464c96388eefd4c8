// A share is taken over although what has to be read first gets no answer, a late one, or an error; and nothing hot-loops.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeClient } from '../kube/kube.ts';
import { KubeError } from '../kube/kube-error.ts';
import { DURATION_MS, isWhole, shardedWorld, withSwitch } from './testing/sharded-world.ts';

for (const [what, isPreparing, isLost] of [
  ['the list of Leases', false, false],
  ['the list of Leases, and the Lease of the replica is lost', false, true],
  ['the list of objects, and the Lease of the replica is lost', true, true],
] as const) {
  test(`[SCL-1] a newcomer gets no answer to ${what}: it takes its share all the same`, async (t) => {
    const { clock, replica, owners, kube } = await shardedWorld(t);
    const cut = withSwitch(kube);
    let hung = 0;
    let hangs = false;
    /** As on a connection that is dead: only the one who asked can end it. */
    const hang = (signal?: AbortSignal): Promise<never> => {
      hung++;
      hangs = false;
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    };
    const list = (...given: Parameters<KubeClient['list']>) =>
      hangs && !isPreparing ? hang(given[1]?.signal) : kube.list(...given);
    const a = replica('a', {
      kube: { ...cut.kube, list } as KubeClient,
      prepare: () => (hangs && isPreparing ? hang() : undefined),
    });
    await clock.runUntil(() => a.membership !== undefined, 10_000);
    hangs = true;
    await clock.runUntil(() => hung > 0, 10_000);
    if (isLost) {
      cut.isCut = true;
      await clock.advance(DURATION_MS);
      cut.isCut = false;
    }
    const fromMs = clock.monotonicMs();
    await clock.runUntil(() => isWhole(owners([a])), 100_000);
    assert.equal(hung, 1);
    assert.ok(clock.monotonicMs() - fromMs < 3 * DURATION_MS, `${clock.monotonicMs() - fromMs} ms`);
  });
}

test('[SCL-1] lists of Leases take longer than a renewal may: a replica takes its share all the same', async (t) => {
  const { clock, replica, owners, kube } = await shardedWorld(t);
  const list = async (...given: Parameters<KubeClient['list']>) => {
    await clock.sleep(2 * DURATION_MS, given[1]?.signal);
    return kube.list(...given);
  };
  const a = replica('a', { kube: { ...kube, list } as KubeClient });
  await clock.runUntil(() => isWhole(owners([a])), 30 * DURATION_MS);
});

test('[SCL-1] a replica stops while it reads the Leases: it does not bring caches up to date that have stopped', async (t) => {
  const { clock, replica, kube } = await shardedWorld(t);
  let prepared = 0;
  const list = async (...given: Parameters<KubeClient['list']>) => {
    const answer = await kube.list(...given);
    if (a.membership?.state.published.length) {
      a.stop.abort();
      await clock.sleep(50);
    }
    return answer;
  };
  const a = replica('a', {
    kube: { ...kube, list } as KubeClient,
    prepare() {
      prepared++;
      return Promise.reject(new Error('the informer has stopped'));
    },
  });
  await clock.runUntil(a.ended, 10_000);
  await clock.advance(1_000);
  assert.equal(prepared, 0);
});

for (const [what, isPreparing] of [
  ['Leases cannot be listed', false],
  ['caches cannot be brought up to date', true],
] as const) {
  test(`[SCL-1] ${what} while Leases can be written: a replica tries again, but less and less often`, async (t) => {
    const { clock, replica, owners, kube, log } = await shardedWorld(t);
    let tries = 0;
    let fails = true;
    const fail = async (isHere: boolean): Promise<void> => {
      if (!fails || !isHere) return;
      tries++;
      throw new KubeError({ reason: 'InternalError', code: 500, message: 'on purpose' });
    };
    const list = async (...given: Parameters<KubeClient['list']>) => {
      await fail(!isPreparing);
      return kube.list(...given);
    };
    const a = replica('a', { kube: { ...kube, list } as KubeClient, prepare: () => fail(isPreparing) });
    await clock.advance(20_000);
    assert.ok(tries > 10 && tries < 30, `${tries} tries`);
    assert.ok(log.lines.length < 50, `${log.lines.length} lines`);
    fails = false;
    await clock.runUntil(() => isWhole(owners([a])), DURATION_MS);
  });
}
