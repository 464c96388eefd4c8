// Records core/v1 Events without becoming the main load on the API server. Callers never wait for it.
//
// Limits: the first occurrence is written at once, repetitions only raise its count. A count is written at most every
// 10 s, then 20 s, doubling to 5 min. An object gets 25 writes, then one in 5 min, as with client-go; counting goes on
// meanwhile. One rate limit bounds all event writes of the process. What exceeds it is dropped and counted.

import { events } from '../../api/kinds.ts';
import { TokenBucket } from '../../wire/token-bucket.ts';
import type { KubeClient } from '../kube/kube.ts';
import { isAlreadyExists, isForbidden, isInvalid, isNotFound } from '../kube/kube-error.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Clock, Log, Random, Timer } from '../ports.ts';
import { startDeadline, withDeadline } from '../time/deadline.ts';
import { onAbort } from '../time/on-abort.ts';
import { EventBook } from './event-book.ts';
import {
  type EventSource,
  type EventSubject,
  type EventType,
  eventDraft,
  eventName,
  eventNamespace,
  eventTime,
} from './event-record.ts';
import type { Entry } from './event-topic.ts';

/** Rate limit of all event writes of a process. The official sidecars default to 5 requests a second of any kind. */
const DEFAULT_BUDGET = { burst: 25, perSecond: 10 };
const LONGEST_QUEUE = 1000;
/** As client-go. */
const DEFAULT_REMEMBERED = 4096;
/** client-go's interval and number of retries when the server rejects an event. */
const RETRY_MS = 10_000;
const MOST_ATTEMPTS = 12;
const WRITE_TIMEOUT_MS = 10_000;
const FLUSH_WITHIN_MS = 2_000;
const FLUSH_WRITERS = 8;

export interface EventRecorderOptions extends EventSource {
  kube: KubeClient;
  clock: Clock;
  random: Random;
  log: Log;
  metrics?: Metrics;
  budget?: { burst: number; perSecond: number };
  /** Number of objects whose recent events are remembered. */
  remembered?: number;
  /** Once it aborts, pending events are dropped and nothing more is written or retried. */
  signal?: AbortSignal;
}

export interface EventRecorder {
  /** Returns at once and never throws. The message is shown to users: no secrets, at most 1024 bytes are kept. */
  event(subject: EventSubject, type: EventType, reason: string, message: string): void;
  /** Writes pending events without rate limit, and drops the rest at the deadline. For the end of a process. */
  flush(withinMs?: number): Promise<void>;
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { clock, log } = options;
  const count = counters(options.metrics);
  const budget = new TokenBucket({ clock, ...(options.budget ?? DEFAULT_BUDGET) });
  const book = new EventBook({
    clock,
    longestQueue: LONGEST_QUEUE,
    remembered: options.remembered ?? DEFAULT_REMEMBERED,
    onForgotten: () => count.dropped('forgotten'),
  });
  const inFlight = new Set<Promise<void>>();
  let stopWrites = new AbortController();
  let timer: { readonly dueMs: number; readonly handle: Timer } | undefined;
  let pumping = false;
  let flushing = false;
  let stopped = false;
  const { signal } = options;
  if (signal) {
    onAbort(signal, () => {
      stopped = true;
      timer?.handle.cancel();
      stopWrites.abort(signal.reason);
    });
  }

  async function pump(): Promise<void> {
    if (pumping || flushing || stopped) return;
    pumping = true;
    try {
      while (!flushing && !stopped) {
        const dueMs = book.nextDueMs;
        if (dueMs === undefined) return;
        const nowMs = clock.monotonicMs();
        const waitMs = Math.max(dueMs - nowMs, budget.waitMs());
        if (waitMs > 0) {
          arm(nowMs + waitMs, waitMs);
          return;
        }
        const entry = book.take();
        if (entry === undefined) continue;
        budget.take();
        await start(entry);
      }
    } finally {
      pumping = false;
    }
  }

  function arm(dueMs: number, waitMs: number): void {
    timer?.handle.cancel();
    const handle = clock.setTimeout(() => {
      timer = undefined;
      void pump();
    }, waitMs);
    timer = { dueMs, handle };
  }

  /** While the rate limit is exhausted, new events do not change when the next write is possible. */
  function isTimerSoonEnough(): boolean {
    return timer !== undefined && timer.dueMs <= clock.monotonicMs() + budget.waitMs() + 1;
  }

  function start(entry: Entry): Promise<void> {
    const writing = write(entry).finally(() => inFlight.delete(writing));
    inFlight.add(writing);
    return writing;
  }

  /** Never rejects. */
  async function write(entry: Entry): Promise<void> {
    const written = entry.count;
    const verb = entry.name === undefined ? 'create' : 'patch';
    try {
      const name = await withDeadline(
        {
          clock,
          delayMs: WRITE_TIMEOUT_MS,
          reason: () => new Error(`no answer within ${WRITE_TIMEOUT_MS} ms`),
          parent: stopWrites.signal,
        },
        (signal) => send(entry, signal),
      );
      count.wrote(verb);
      book.written(entry, name, written);
    } catch (error) {
      settleFailure(entry, verb, error);
    }
  }

  async function send(entry: Entry, signal: AbortSignal): Promise<string> {
    const { remark, count, firstMs, lastMs } = entry;
    const { kube, random, component, instance } = options;
    const namespace = eventNamespace(remark.subject);
    if (entry.name !== undefined) {
      const patch = { count, lastTimestamp: eventTime(lastMs), message: remark.message };
      await kube.patch(events, { namespace, name: entry.name }, patch, { type: 'merge', signal });
      return entry.name;
    }
    const name = eventName(remark.subject, lastMs, random.int(1_000_000));
    const source = { component, ...(instance !== undefined && { instance }) };
    const draft = eventDraft({ remark, source, name, count, firstMs, lastMs });
    await kube.create(events, draft, { brief: true, signal });
    return name;
  }

  function settleFailure(entry: Entry, verb: 'create' | 'patch', error: unknown): void {
    const { subject, reason } = entry.remark;
    const about = { about: `${subject.kind} ${subject.metadata.name}`, reason, err: error };
    const patient = entry.attempts < MOST_ATTEMPTS;
    if (stopped) {
      count.dropped('shutdown');
      book.forget(entry);
      return;
    }
    // The server expires events after about an hour: a new one continues the count of the expired one.
    if (verb === 'patch' && isNotFound(error) && patient) {
      entry.name = undefined;
      book.tryAgain(entry, 0);
    } else if (isAlreadyExists(error) && patient) {
      book.tryAgain(entry, 0);
    } else if (!patient || flushing || isForbidden(error) || isInvalid(error) || isNotFound(error)) {
      log.warn('Dropped an event', about);
      count.dropped('refused');
      book.forget(entry);
    } else {
      log.v(2).info('Could not write an event, will try again', { ...about, retryInMs: RETRY_MS });
      book.tryAgain(entry, RETRY_MS);
    }
  }

  return {
    event(subject, type, reason, message) {
      const verbose = log.v(3);
      if (verbose.enabled) {
        verbose.info('Event', { about: `${subject.kind} ${subject.metadata.name}`, type, reason, message });
      }
      if (stopped) {
        count.dropped('shutdown');
        return;
      }
      const recorded = book.record({ subject, type, reason, message });
      if (recorded === 'counted') return;
      if (recorded !== 'due') {
        count.dropped(recorded);
        return;
      }
      if (!pumping && !isTimerSoonEnough()) queueMicrotask(pump);
    },

    async flush(withinMs = FLUSH_WITHIN_MS) {
      flushing = true;
      timer?.handle.cancel();
      timer = undefined;
      const deadline = startDeadline({ clock, delayMs: withinMs, reason: () => new Error('time is up') });
      const timeIsUp = new Promise<void>((resolve) => {
        deadline.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      try {
        while (!deadline.signal.aborted && !stopped) {
          while (inFlight.size < FLUSH_WRITERS) {
            const entry = book.take(true);
            if (entry === undefined) break;
            void start(entry);
          }
          if (inFlight.size === 0) return;
          await Promise.race([...inFlight, timeIsUp]);
        }
        stopWrites.abort(deadline.signal.reason);
        stopWrites = new AbortController();
        await Promise.all(inFlight);
        for (let entry = book.take(true); entry !== undefined; entry = book.take(true)) {
          count.dropped('shutdown');
          book.forget(entry);
        }
      } finally {
        deadline.cancel();
        flushing = false;
      }
    },
  };
}

function counters(metrics: Metrics | undefined) {
  const wrote = metrics?.counter({
    name: 'berth_event_writes_total',
    help: 'Events created and counts patched.',
    labelNames: ['verb'],
  });
  const dropped = metrics?.counter({
    name: 'berth_events_dropped_total',
    help: 'Events that were never written, by why.',
    labelNames: ['why'],
  });
  return {
    wrote: (verb: string) => wrote?.inc({ verb }),
    dropped: (why: string) => dropped?.inc({ why }),
  };
}
