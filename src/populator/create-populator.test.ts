// What the populator asks of the server when its caches are behind it.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { persistentVolumeClaims, storageClasses } from '../api/kinds.ts';
import type { Resource } from '../api/object.ts';
import { manualInformers } from '../runtime/informer/testing/manual-informers.ts';
import { KubeError } from '../runtime/kube/kube-error.ts';
import { memoryLog } from '../runtime/log/log.ts';
import { createMetrics } from '../runtime/metrics/metrics.ts';
import { seededRandom } from '../runtime/random.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { createPopulator } from './create-populator.ts';
import type { PopulatorDefinition } from './populator-definition.ts';

const things = { group: 'x.test', version: 'v1', kind: 'Thing', plural: 'things', namespaced: true };
const definition: PopulatorDefinition = {
  prefix: 'x.test',
  namespace: 'own',
  source: things,
  populate: { image: 'i', args: () => [], mountPath: '/m', devicePath: '/d' },
};
const claim = {
  metadata: {
    name: 'c',
    namespace: 'ns',
    uid: 'u',
    finalizers: ['x.test/populate-target-protection'],
  },
  spec: { storageClassName: 'fast', dataSourceRef: { apiGroup: 'x.test', kind: 'Thing', name: 's' } },
};
const prime = {
  metadata: { name: 'prime-u', namespace: 'own', uid: 'pu' },
  spec: { volumeName: 'pv' },
  status: { phase: 'Bound' },
};
/** A populator that runs on these cached objects; `onServer` by plural and name. What it writes is heard, and not cached. */
async function populator(
  t: TestContext,
  cached: readonly (readonly [Resource, object])[],
  onServer: Readonly<Record<string, object>> = {},
) {
  const heard: string[] = [];
  const hear =
    (verb: string) =>
    async (
      { plural }: Resource,
      named: { name?: string; metadata?: { name: string } },
      ...more: object[]
    ) => {
      const name = named.name ?? named.metadata?.name;
      const how = more.find((each) => 'preconditions' in each) as { preconditions?: object } | undefined;
      const condition = how ? ` ${JSON.stringify(how.preconditions)}` : '';
      heard.push(`${verb} ${plural}/${name}${condition}`);
    };
  const informers = manualInformers();
  const clock = new VirtualClock();
  const made = createPopulator(
    {
      kube: {
        get: async ({ plural }: Resource, { name }: { name: string }) => {
          const found = onServer[`${plural}/${name}`];
          if (found) return found;
          throw new KubeError({ code: 404, reason: 'NotFound', message: 'none' });
        },
        create: hear('create'),
        patch: hear('patch'),
        delete: hear('delete'),
      } as never,
      informers,
      clock,
      recorder: { event() {}, flush: async () => {} },
      random: seededRandom('populator'),
      log: memoryLog(),
      metrics: createMetrics(),
    },
    definition,
  );
  const usual: [Resource, object][] = [
    [things as Resource, { metadata: { name: 's', namespace: 'ns', uid: 's' } }],
    [storageClasses, { metadata: { name: 'fast' }, provisioner: 'd' }],
  ];
  for (const [resource, object] of [...usual, ...cached]) informers.change(resource, undefined, object);
  const stop = new AbortController();
  t.after(() => stop.abort());
  void made.run(stop.signal);
  await clock.advance(1);
  return { heard, clock };
}

const own: readonly [Resource, object] = [persistentVolumeClaims, claim];
const withPrime: readonly [Resource, object] = [persistentVolumeClaims, prime];

const vanishing: [name: string, cached: (readonly [Resource, object])[], creation: string][] = [
  ['a prime claim', [own], 'create persistentvolumeclaims/prime-u'],
  ['a populator pod', [own, withPrime], 'create pods/populate-u'],
];
for (const [name, cached, creation] of vanishing)
  test(`${name} that appears and vanishes unseen is created again`, async (t) => {
    const { heard, clock } = await populator(t, cached);
    assert.deepEqual(heard, [creation]);
    await clock.advance(60_000);
    assert.deepEqual(heard, [creation, creation]);
  });
