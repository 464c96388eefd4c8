// For tests of which change wakes which loop: a component runs on caches that the test changes, and its requests are never
// answered. What is enqueued is read from the metrics of the work queues.

import type { TestContext } from 'node:test';
import type { Resource } from '../../../api/object.ts';
import type { KubeClient } from '../../kube/kube.ts';
import { memoryLog } from '../../log/log.ts';
import { createMetrics } from '../../metrics/metrics.ts';
import { seededRandom } from '../../random.ts';
import { VirtualClock } from '../../time/virtual-clock.ts';
import { manualInformers } from './manual-informers.ts';

export interface Change {
  resource: Resource;
  before?: object | undefined;
  after?: object | undefined;
}

/** Changes of one kind. */
export const changesOf =
  (resource: Resource) =>
  (before: object | undefined, after: object | undefined): Change => ({ resource, before, after });

export const unanswered = new Proxy({}, { get: () => () => new Promise(() => {}) });

function ports() {
  return {
    kube: unanswered as KubeClient,
    informers: manualInformers(),
    recorder: { event() {}, flush: async () => {} },
    clock: new VirtualClock(),
    random: seededRandom('wakes'),
    log: memoryLog(),
    metrics: createMetrics(),
  };
}

/**
 * The loops that the change wakes, as `name` or `name ×2`; without a change, those that the start wakes. `cached` is there
 * before the component starts.
 */
export async function wokenLoops(
  t: TestContext,
  create: (given: ReturnType<typeof ports>) => { run(signal: AbortSignal): Promise<void> },
  given: {
    cached?: readonly (readonly [Resource, object])[];
    change?: Change;
    /** Lets time pass instead. */
    passMs?: number;
  },
): Promise<string[]> {
  const { cached = [], change, passMs } = given;
  const made = ports();
  const { clock, metrics, informers } = made;
  const stop = new AbortController();
  const component = create(made);
  for (const [resource, object] of cached) informers.change(resource, undefined, object);
  void component.run(stop.signal).catch(() => {});
  t.after(() => stop.abort());
  await clock.advance(1);
  const isStart = change === undefined && passMs === undefined;
  const before = isStart ? new Map<string, number>() : adds(metrics.text());
  if (change) informers.change(change.resource, change.before, change.after);
  if (passMs !== undefined) await clock.advance(passMs);
  return [...adds(metrics.text())]
    .map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => (count === 1 ? name : `${name} ×${count}`));
}

function adds(text: string): Map<string, number> {
  const samples = text.matchAll(/^workqueue_adds_total\{name="([^"]+)"\} (\d+)$/gm);
  return new Map([...samples].map(([, name = '', count]) => [name, Number(count)]));
}
