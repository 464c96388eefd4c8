// For tests of which change wakes which loop of a sidecar: it runs on caches that the test changes, and its requests are
// never answered.

import type { TestContext } from 'node:test';
import type { Resource } from '../../api/object.ts';
import type { ControllerCapability } from '../../csi/messages/capabilities.ts';
import { parseDriverName } from '../../csi/names/driver-name.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { createMetrics } from '../../runtime/metrics/metrics.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import type { Sidecar, SidecarPorts } from '../common/sidecar.ts';

export const DRIVER = parseDriverName('d.example');

const unanswered = new Proxy({}, { get: () => () => new Promise(() => {}) });

export interface Change {
  resource: Resource;
  before?: object | undefined;
  after?: object | undefined;
}

/** The loops that the change wakes, as `name` or `name ×2`. `cached` is there before the sidecar starts. */
export async function wokenBy(
  t: TestContext,
  create: (ports: SidecarPorts) => Sidecar,
  {
    cached = [],
    change,
    passMs,
    capabilities = [],
  }: {
    cached?: readonly (readonly [Resource, object])[];
    change?: Change;
    /** Lets time pass instead. */
    passMs?: number;
    capabilities?: readonly ControllerCapability[];
  },
): Promise<string[]> {
  const clock = new VirtualClock();
  const metrics = createMetrics();
  const informers = manualInformers();
  const stop = new AbortController();
  const sidecar = create({
    kube: unanswered,
    csi: unanswered,
    informers,
    driver: {
      name: DRIVER,
      plugin: { services: new Set(['CONTROLLER_SERVICE']), volumeExpansion: new Set() },
      controller: new Set(capabilities),
      group: new Set(),
    },
    recorder: { event() {}, flush: async () => {} },
    clock,
    random: seededRandom('wakes'),
    log: memoryLog(),
    metrics,
  } as unknown as SidecarPorts);
  for (const [resource, object] of cached) informers.change(resource, undefined, object);
  void sidecar.run(stop.signal).catch(() => {});
  t.after(() => stop.abort());
  await clock.advance(1);
  const before = adds(metrics.text());
  if (change) informers.change(change.resource, change.before, change.after);
  if (passMs !== undefined) await clock.advance(passMs);
  const after = adds(metrics.text());
  return [...after]
    .map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => (count === 1 ? name : `${name} ×${count}`));
}

function adds(text: string): Map<string, number> {
  const samples = text.matchAll(/^workqueue_adds_total\{name="([^"]+)"\} (\d+)$/gm);
  return new Map([...samples].map(([, name = '', count]) => [name, Number(count)]));
}
