import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Event } from '../../api/kinds.ts';
import type { KubeClient } from '../kube/kube.ts';
import { KubeError, type KubeErrorReason } from '../kube/kube-error.ts';
import { memoryLog } from '../log/log.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { seededRandom } from '../random.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import { createEventRecorder, type EventRecorderOptions } from './create-event-recorder.ts';
import type { EventSubject } from './event-record.ts';

const claim = (name = 'claim'): EventSubject => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '7' },
});

function setUp(options: Partial<EventRecorderOptions> = {}) {
  const clock = new VirtualClock();
  const stored = new Map<string, Event>();
  const writes: string[] = [];
  const server: { fails?: KubeErrorReason | undefined; hangs?: boolean } = {};
  const write = async (verb: string, signal: AbortSignal | undefined, act: () => Event): Promise<Event> => {
    await clock.sleep(server.hangs ? 3_600_000 : 1, signal);
    writes.push(verb);
    if (server.fails !== undefined)
      throw new KubeError({ reason: server.fails, code: 0, message: server.fails });
    return act();
  };
  const kube = {
    create: (_: unknown, event: Event, { signal }: { signal?: AbortSignal }) =>
      write('create', signal, () => {
        const key = `${event.metadata.namespace}/${event.metadata.name}`;
        if (stored.has(key)) throw new KubeError({ reason: 'AlreadyExists', code: 409, message: key });
        stored.set(key, event);
        return event;
      }),
    patch: (
      _: unknown,
      at: { namespace: string; name: string },
      patch: Event,
      { signal }: { signal?: AbortSignal },
    ) =>
      write('patch', signal, () => {
        const key = `${at.namespace}/${at.name}`;
        const old = stored.get(key);
        if (old === undefined) throw new KubeError({ reason: 'NotFound', code: 404, message: key });
        const event = { ...old, ...patch };
        stored.set(key, event);
        return event;
      }),
  };
  const metrics = createMetrics();
  const recorder = createEventRecorder({
    // Only the two verbs that a recorder uses.
    kube: kube as unknown as KubeClient,
    clock,
    random: seededRandom(1),
    log: memoryLog(),
    metrics,
    component: 'attacher',
    instance: 'attacher-0',
    ...options,
  });
  const all = () => [...stored.values()];
  return { clock, recorder, stored, all, writes, server, metrics };
}

describe('createEventRecorder', () => {
  it('writes an event as client-go does, at once', async () => {
    const { clock, recorder, all } = setUp();
    recorder.event(claim(), 'Warning', 'ProvisioningFailed', 'no space');
    await clock.advance(1);
    const [event] = all();
    assert.ok(event);
    assert.match(event.metadata.name, /^claim\.[0-9a-f]{16}$/);
    assert.deepEqual(
      { ...event, metadata: { namespace: event.metadata.namespace } },
      {
        metadata: { namespace: 'ns' },
        involvedObject: {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          namespace: 'ns',
          name: 'claim',
          uid: 'uid-claim',
          resourceVersion: '7',
        },
        type: 'Warning',
        reason: 'ProvisioningFailed',
        message: 'no space',
        count: 1,
        firstTimestamp: '2026-01-01T00:00:00Z',
        lastTimestamp: '2026-01-01T00:00:00Z',
        source: { component: 'attacher' },
        reportingComponent: 'attacher',
        reportingInstance: 'attacher-0',
      },
    );
  });

  it('puts events about cluster-scoped objects into the namespace default', async () => {
    const { clock, recorder, all } = setUp();
    recorder.event({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } }, 'Normal', 'R', 'm');
    await clock.advance(1);
    assert.equal(all()[0]?.metadata.namespace, 'default');
    assert.deepEqual(all()[0]?.involvedObject, { apiVersion: 'v1', kind: 'Node', name: 'n1' });
  });

  it('keeps at most 1024 bytes of a message, in whole characters', async () => {
    const { clock, recorder, all } = setUp();
    recorder.event(claim(), 'Normal', 'R', `x${'ü'.repeat(1000)}`);
    await clock.advance(1);
    assert.equal(all()[0]?.message, `x${'ü'.repeat(511)}`);
  });

  it('counts repetitions and writes the count at growing intervals', async () => {
    const { clock, recorder, all, writes } = setUp();
    for (let second = 0; second < 3600; second++) {
      recorder.event(claim(), 'Normal', 'ExternalProvisioning', 'waiting');
      await clock.advance(1000);
    }
    assert.ok(writes.length <= 20, `${writes.length} writes`);
    await clock.advance(600_000);
    assert.equal(all().length, 1);
    assert.equal(all()[0]?.count, 3600);
    assert.equal(all()[0]?.firstTimestamp, '2026-01-01T00:00:00Z');
    assert.equal(all()[0]?.lastTimestamp, '2026-01-01T00:59:59Z');
  });

  it('combines many messages for one reason', async () => {
    const { clock, recorder, all } = setUp();
    for (let i = 0; i < 30; i++) {
      recorder.event(claim(), 'Warning', 'Failed', `failed at ${i}`);
      await clock.advance(1000);
    }
    await clock.advance(60_000);
    assert.equal(all().length, 10);
    const combined = all().at(-1);
    assert.equal(combined?.message, '(combined from similar events): failed at 29');
    assert.equal(combined?.count, 21);
  });

  it('continues the count when a message returns after others, and expires messages', async () => {
    const { clock, recorder, all } = setUp();
    const say = async (message: string) => {
      recorder.event(claim(), 'Warning', 'Failed', message);
      await clock.advance(700_000);
    };
    await say('first');
    for (let i = 0; i < 14; i++) await say(`other ${i}`);
    await say('first');
    const counts = () =>
      all()
        .filter(({ message }) => message === 'first')
        .map(({ count }) => count);
    assert.deepEqual(counts(), [2]);
    for (let i = 14; i < 40; i++) await say(`other ${i}`);
    await say('first');
    assert.deepEqual(counts(), [2, 1]);
  });

  it('reports how many unwritten events it dropped', async () => {
    const { clock, recorder, all, metrics } = setUp({ budget: { burst: 1, perSecond: 1 }, remembered: 5 });
    for (let i = 0; i < 8; i++) recorder.event(claim(`c${i}`), 'Normal', 'R', 'm');
    await clock.advance(60_000);
    assert.equal(all().length, 5);
    assert.match(await metrics.text(), /berth_events_dropped_total\{why="forgotten"\} 3/);
  });

  it('limits the events per object', async () => {
    const { clock, recorder, writes, metrics } = setUp();
    for (let i = 0; i < 100; i++) recorder.event(claim(), 'Normal', `Reason${i}`, 'm');
    recorder.event(claim('other'), 'Normal', 'R', 'm');
    await clock.advance(60_000);
    assert.equal(writes.length, 26);
    assert.match(await metrics.text(), /berth_events_dropped_total\{why="too many for one object"\} 75/);
    await clock.advance(300_000);
    recorder.event(claim(), 'Normal', 'Later', 'm');
    await clock.advance(1000);
    assert.equal(writes.length, 27);
  });

  it('keeps to its budget, warnings first, and drops what does not fit', async () => {
    const { clock, recorder, all, writes, metrics } = setUp({ budget: { burst: 10, perSecond: 5 } });
    for (let i = 0; i < 1500; i++) recorder.event(claim(`c${i}`), 'Normal', 'R', 'm');
    for (let i = 0; i < 10; i++) recorder.event(claim(`w${i}`), 'Warning', 'R', 'm');
    await clock.advance(1000);
    assert.ok(writes.length <= 16, `${writes.length} writes in the first second`);
    assert.equal(all().filter((event) => event.type === 'Warning').length, 10);
    await clock.advance(300_000);
    assert.equal(all().length, 1010);
    assert.match(await metrics.text(), /berth_events_dropped_total\{why="queue full"\} 500/);
  });

  it('continues the count when the event has expired on the server', async () => {
    const { clock, recorder, stored, all } = setUp();
    recorder.event(claim(), 'Normal', 'R', 'm');
    await clock.advance(1000);
    stored.clear();
    recorder.event(claim(), 'Normal', 'R', 'm');
    await clock.advance(10_000);
    assert.equal(all()[0]?.count, 2);
  });

  it('retries while the server is unreachable, and drops what it rejects', async () => {
    const { clock, recorder, all, writes, server } = setUp();
    server.fails = 'Unreachable';
    recorder.event(claim(), 'Normal', 'R', 'm');
    await clock.advance(35_000);
    assert.equal(writes.length, 4);
    server.fails = undefined;
    await clock.advance(10_000);
    assert.equal(all().length, 1);
    server.fails = 'Forbidden';
    recorder.event(claim(), 'Normal', 'Other', 'm');
    await clock.advance(100_000);
    assert.equal(writes.length, 6);
    assert.equal(clock.pendingTimers, 0);
  });

  it('flushes everything pending, without rate limit', async () => {
    const { clock, recorder, all } = setUp({ budget: { burst: 1, perSecond: 0.001 } });
    for (let i = 0; i < 100; i++) recorder.event(claim(`c${i}`), 'Normal', 'R', 'm');
    recorder.event(claim('c0'), 'Normal', 'R', 'm');
    await clock.runUntil(recorder.flush(1000), 1000);
    assert.equal(all().length, 100);
    assert.equal(
      all().reduce((sum, event) => sum + (event.count ?? 0), 0),
      101,
    );
    assert.equal(clock.pendingTimers, 0);
  });

  it('writes nothing more once its signal aborts, and leaves no timer behind', async () => {
    const stop = new AbortController();
    const { recorder, clock, server, writes } = setUp({ signal: stop.signal });
    server.fails = 'ServiceUnavailable';
    recorder.event(claim(), 'Normal', 'First', 'is being retried');
    await clock.advance(5_000);
    const before = writes.length;
    stop.abort();
    recorder.event(claim('other'), 'Normal', 'Late', 'never written');
    await clock.advance(60_000);
    assert.equal(writes.length, before);
    assert.equal(clock.pendingTimers, 0);
  });

  it('ends a flush at its deadline, whatever the server does', async () => {
    const { clock, recorder, server, metrics } = setUp();
    server.hangs = true;
    for (let i = 0; i < 20; i++) recorder.event(claim(`c${i}`), 'Normal', 'R', 'm');
    await clock.settle();
    await clock.runUntil(recorder.flush(500), 500);
    assert.equal(clock.monotonicMs(), 500);
    assert.equal(clock.pendingTimers, 0);
    const text = await metrics.text();
    const dropped = [...text.matchAll(/berth_events_dropped_total\{.*\} (\d+)/g)].map((match) =>
      Number(match[1]),
    );
    assert.equal(
      dropped.reduce((sum, each) => sum + each, 0),
      20,
    );
  });
});
