import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { KubeClient } from '../kube/kube.ts';
import { memoryLog } from '../log/log.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { seededRandom } from '../random.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import { createLeaderHealth } from './leader-health.ts';
import { LeadershipLostError, type RunWithLeaseOptions, runWithLease } from './run-with-lease.ts';
import { type LeaseServer, type Link, leaseServer } from './testing/lease-server.ts';

interface Candidate {
  id: string;
  link: Link;
  abort: AbortController;
  leading: boolean;
  ended: Promise<unknown>;
}

function setUp() {
  const clock = new VirtualClock();
  const server: LeaseServer = leaseServer(clock);
  const log = memoryLog();
  const candidate = (
    id: string,
    options: Partial<RunWithLeaseOptions & { windDownMs: number; link: Link }> = {},
  ) => {
    const { windDownMs = 0, link = { latencyMs: 2 }, ...rest } = options;
    const abort = new AbortController();
    const self: Candidate = { id, link, abort, leading: false, ended: Promise.resolve() };
    self.ended = runWithLease(
      {
        kube: server.client(link),
        clock,
        random: seededRandom(id),
        log,
        namespace: 'ns',
        name: 'external-attacher-leader-d',
        identity: id,
        ...rest,
      },
      async (signal) => {
        self.leading = true;
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => resolve(), { once: true }),
        );
        await clock.sleep(windDownMs);
        self.leading = false;
      },
      abort.signal,
    ).catch((error: unknown) => error);
    return self;
  };
  return { clock, server, log, candidate };
}

describe('runWithLease', () => {
  it('writes records as client-go does', async () => {
    const { clock, server, candidate } = setUp();
    const a = candidate('a', { labels: { team: 'storage' } });
    await clock.advance(5_500);
    assert.ok(a.leading);
    assert.deepEqual(server.lease?.spec, {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.004000Z',
      renewTime: '2026-01-01T00:00:05.008000Z',
      leaseTransitions: 0,
    });
    assert.deepEqual(server.lease?.metadata.labels, { team: 'storage' });
    a.abort.abort();
    await clock.runUntil(a.ended, 1000);
    assert.deepEqual(server.lease?.spec, {
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: '2026-01-01T00:00:05.500000Z',
      renewTime: '2026-01-01T00:00:05.500000Z',
      leaseTransitions: 0,
    });
    assert.equal(clock.pendingTimers, 0);
  });

  it('hands over within milliseconds of the release, and only after the work has ended', async () => {
    const { clock, server, candidate } = setUp();
    const a = candidate('a', { windDownMs: 40_000 });
    await clock.advance(1000);
    const b = candidate('b');
    await clock.advance(10_000);
    assert.deepEqual([a.leading, b.leading], [true, false]);
    a.abort.abort();
    await clock.advance(39_999);
    assert.deepEqual([a.leading, b.leading], [true, false]);
    await clock.advance(21);
    assert.deepEqual([a.leading, b.leading], [false, true]);
    assert.equal(server.lease?.spec?.leaseTransitions, 1);
  });

  it('takes over by polling where watching is forbidden', async () => {
    const { clock, candidate } = setUp();
    const a = candidate('a');
    await clock.advance(1000);
    const b = candidate('b', { link: { latencyMs: 2, watchable: false } });
    await clock.advance(10_000);
    a.abort.abort();
    await clock.runUntil(() => b.leading, 11_000 + 20);
  });

  it('takes over from a dead leader when its lease expires', async () => {
    const { clock, candidate } = setUp();
    const a = candidate('a');
    await clock.advance(1000);
    const b = candidate('b');
    await clock.advance(20_000);
    a.link.cut = 'requests';
    const cutAtMs = clock.monotonicMs();
    await clock.runUntil(() => b.leading, 30_000);
    assert.equal(a.leading, false);
    const tookMs = clock.monotonicMs() - cutAtMs;
    assert.ok(tookMs > 10_000 && tookMs < 15_100, `${tookMs}`);
    assert.ok((await a.ended) instanceof LeadershipLostError);
  });

  it('survives a server that does not answer for less than the renew deadline', async () => {
    const { clock, candidate } = setUp();
    const a = candidate('a');
    await clock.advance(5_500);
    a.link.cut = 'answers';
    await clock.advance(7_000);
    a.link.cut = undefined;
    await clock.advance(60_000);
    assert.ok(a.leading);
  });

  it('stops at once when another process holds the lease', async () => {
    const { clock, server, candidate } = setUp();
    const a = candidate('a');
    await clock.advance(1000);
    const usurper = server.client({ latencyMs: 0 });
    const lease = server.lease;
    assert.ok(lease);
    const spec = { ...lease.spec, holderIdentity: 'usurper' };
    await clock.runUntil(usurper.update({} as never, { ...lease, spec } as never), 100);
    await clock.runUntil(a.ended, 6000);
    assert.match(String(await a.ended), /held by usurper/);
    assert.equal(server.lease?.spec?.holderIdentity, 'usurper');
  });

  it('ends without leading when aborted while waiting, and leaves nothing running', async () => {
    const { clock, candidate } = setUp();
    const a = candidate('a');
    await clock.advance(1000);
    const b = candidate('b');
    await clock.advance(1000);
    b.abort.abort();
    assert.equal(await clock.runUntil(b.ended, 10), undefined);
    a.abort.abort();
    await clock.runUntil(a.ended, 100);
    await clock.advance(10_000);
    assert.equal(clock.pendingTimers, 0);
  });

  it('releases the lease without leading when aborted while acquiring it', async () => {
    const { clock, server, log } = setUp();
    let led = false;
    const abort = new AbortController();
    const client = server.client({ latencyMs: 1 });
    const create: KubeClient['create'] = async (...args) => {
      const created = await client.create(...args);
      abort.abort();
      return created;
    };
    const run = runWithLease(
      {
        kube: { ...client, create },
        clock,
        log,
        random: seededRandom(1),
        namespace: 'ns',
        name: 'l',
        identity: 'a',
      },
      async () => {
        led = true;
      },
      abort.signal,
    );
    await clock.runUntil(run, 1000);
    assert.equal(led, false);
    assert.deepEqual(
      server.history.map((lease) => lease.spec?.holderIdentity),
      ['a', ''],
    );
  });

  it('passes on what the work throws, after releasing', async () => {
    const { clock, server, log } = setUp();
    const options = { clock, log, random: seededRandom(1), namespace: 'ns', name: 'l', identity: 'a' };
    const run = runWithLease(
      { ...options, kube: server.client({ latencyMs: 1 }) },
      () => Promise.reject(new Error('broken')),
      new AbortController().signal,
    );
    await assert.rejects(clock.runUntil(run, 1000), /broken/);
    assert.equal(server.lease?.spec?.holderIdentity, '');
  });

  for (const { name, times, message } of [
    {
      name: 'a lease as short as its deadline',
      times: { leaseDurationMs: 10_000 },
      message: /above the renew deadline/,
    },
    { name: 'a deadline as short as the retry', times: { renewDeadlineMs: 6_000 }, message: /retry period/ },
    { name: 'an empty identity', times: { identity: '' }, message: /identity is empty/ },
  ]) {
    it(`refuses ${name}`, async () => {
      const { candidate } = setUp();
      assert.match(String(await candidate('a', times).ended), message);
    });
  }

  it('health reports work that does not stop, metrics report the leader', async () => {
    const { clock, candidate } = setUp();
    const health = createLeaderHealth({ clock });
    const metrics = createMetrics();
    const status = async () => /^leader_election_master_status\{.*\} (\d)$/m.exec(await metrics.text())?.[1];
    health.check();
    const a = candidate('a', { health, metrics, windDownMs: 100_000 });
    assert.equal(await status(), '0');
    await clock.advance(60_000);
    health.check();
    assert.equal(await status(), '1');
    a.link.cut = 'requests';
    await clock.advance(30_000);
    health.check();
    await clock.advance(10_000);
    assert.throws(() => health.check(), /still leading/);
    await clock.advance(100_000);
    health.check();
    assert.equal(await status(), '0');
  });

  it('never has two leaders, with any partitions, late responses and jumps of wall clocks', async () => {
    const fault = fc.record({
      afterMs: fc.integer({ min: 0, max: 30_000 }),
      who: fc.nat(2),
      what: fc.constantFrom('cut requests', 'cut answers', 'heal', 'jump', 'stop', 'slow'),
      amount: fc.integer({ min: -100_000, max: 100_000 }),
    });
    let handOvers = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 20 }), fc.nat(), async (faults, seed) => {
        const { clock, server, candidate } = setUp();
        const random = seededRandom(seed);
        let slowMs = 20;
        const all = ['a', 'b', 'c'].map((id) =>
          candidate(id, { windDownMs: 4_000, link: { latencyMs: () => random.int(slowMs) } }),
        );
        const atMostOne = () => {
          const leaders = all.filter((each) => each.leading).map((each) => each.id);
          assert.ok(leaders.length <= 1, `two lead: ${leaders}`);
        };
        for (const { afterMs, who, what, amount } of faults) {
          for (let passed = 0; passed < afterMs; passed += 500) {
            await clock.advance(500);
            atMostOne();
          }
          const target = all[who] as Candidate;
          if (what === 'cut requests') target.link.cut = 'requests';
          else if (what === 'cut answers') target.link.cut = 'answers';
          else if (what === 'heal') target.link.cut = undefined;
          else if (what === 'jump') clock.wallJump(amount);
          else if (what === 'slow') slowMs = 1 + Math.abs(amount % 4000);
          else target.abort.abort();
        }
        const alive = all.filter((each) => !each.abort.signal.aborted);
        for (const each of all) each.link.cut = undefined;
        for (let passed = 0; passed < 60_000; passed += 500) {
          await clock.advance(500);
          atMostOne();
        }
        handOvers += Number(server.lease?.spec?.leaseTransitions ?? 0);
        for (const each of alive) each.abort.abort();
        await clock.runUntilIdle(120_000);
        assert.deepEqual(
          all.filter((each) => each.leading),
          [],
        );
      }),
      { numRuns: 60 },
    );
    assert.ok(handOvers > 10, `only ${handOvers} hand-overs were tried`);
  });
});
