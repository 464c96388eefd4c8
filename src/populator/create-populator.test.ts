// What the populator asks of the server when its caches are behind it.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { persistentVolumeClaims, persistentVolumes, pods, storageClasses } from '../api/kinds.ts';
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
const annotations = { 'x.test/populates': 'ns/c' };
const pod = (phase: string, uid = 'pod') => ({
  metadata: { name: 'populate-u', namespace: 'own', uid, annotations },
  status: { phase },
});
const bound = { namespace: 'own', name: 'prime-u', uid: 'pu' };
const volume = ({
  claimRef = bound,
  metadata = {},
  phase = 'Bound',
}: {
  claimRef?: object;
  metadata?: object;
  phase?: string;
} = {}) => ({
  metadata: { name: 'pv', uid: 'v', resourceVersion: '3', ...metadata },
  spec: { claimRef },
  status: { phase },
});

/** A populator that runs on these cached objects; `onServer` by plural and name. What it writes is heard, and not cached. */
async function populator(
  t: TestContext,
  cached: readonly (readonly [Resource, object])[],
  onServer: Readonly<Record<string, object>> = {},
) {
  const heard: string[] = [];
  /** The reasons of its events. */
  const told: string[] = [];
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
        async patch(resource: Resource, named: { name: string }, _patch: object, how: { known?: object }) {
          await hear('patch')(resource, named);
          const now = onServer[`${resource.plural}/${named.name}`];
          // As over HTTP: the rest of a known object is not read.
          return how.known ? { ...now, ...how.known } : now;
        },
        delete: hear('delete'),
      } as never,
      informers,
      clock,
      recorder: { event: (_subject, _type, reason) => void told.push(reason), flush: async () => {} },
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
  return { heard, told, clock, informers };
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

test('only the populator pod that failed is deleted', async (t) => {
  const { heard } = await populator(t, [own, withPrime, [pods, pod('Failed')]]);
  assert.deepEqual(heard, ['delete pods/populate-u {"uid":"pod"}']);
});

test('a populator pod that fails again and again is created after longer and longer waits', async (t) => {
  const { heard, clock, informers } = await populator(t, [own, withPrime]);
  const creation = 'create pods/populate-u';
  for (const waitMs of [1_000, 2_000, 4_000, 8_000]) {
    const [running, dead] = [pod('Running', `${waitMs}`), pod('Failed', `${waitMs}`)];
    informers.change(pods, undefined, running);
    await clock.settle();
    informers.change(pods, running, dead);
    await clock.settle();
    informers.change(pods, dead, undefined);
    heard.length = 0;
    await clock.advance(waitMs - 1);
    assert.deepEqual(heard, []);
    await clock.advance(1);
    assert.deepEqual(heard, [creation]);
  }
});

test('a populator pod that failed counts once, however long the cache shows it', async (t) => {
  const { heard, told, clock, informers } = await populator(t, [own, withPrime, [pods, pod('Failed')]]);
  const deletion = 'delete pods/populate-u {"uid":"pod"}';
  for (let run = 0; run < 5; run++) {
    informers.change(persistentVolumeClaims, claim, claim);
    await clock.advance(1_000);
  }
  assert.deepEqual([heard, told], [Array(6).fill(deletion), ['PopulatorFailed']]);
  informers.change(pods, pod('Failed'), undefined);
  await clock.settle();
  assert.equal(heard.at(-1), 'create pods/populate-u', 'the wait of one failure is over');
  informers.change(pods, undefined, pod('Failed', 'next'));
  await clock.settle();
  assert.deepEqual(told, ['PopulatorFailed', 'PopulatorCreated', 'PopulatorFailed']);
});

const volumes: [name: string, volume: object | undefined, isRebound: boolean][] = [
  ['that is bound to the prime claim', volume(), true],
  ['that is not there', undefined, false],
  ['that is released', volume({ phase: 'Released' }), false],
  ['that is being deleted', volume({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }), false],
  ['of an earlier prime claim', volume({ claimRef: { ...bound, uid: 'earlier' } }), false],
  ['of another claim', volume({ claimRef: { ...bound, name: 'other' } }), false],
  [
    'that is bound to the claim already',
    volume({ claimRef: { namespace: 'ns', name: 'c', uid: 'u' } }),
    false,
  ],
];
for (const [name, found, isRebound] of volumes)
  test(`a populated volume ${name} is ${isRebound ? '' : 'not '}bound to the claim`, async (t) => {
    const onServer = found && { 'persistentvolumes/pv': found };
    const { heard } = await populator(t, [own, withPrime, [pods, pod('Succeeded')]], onServer);
    assert.deepEqual(heard, isRebound ? [`patch ${persistentVolumes.plural}/pv`] : []);
  });

test('a claim that was bound by the time it got its finalizer gets no prime claim', async (t) => {
  const { finalizers: _, ...fresh } = claim.metadata;
  const unprotected = { ...claim, metadata: fresh };
  const now = { ...claim, spec: { ...claim.spec, volumeName: 'other' } };
  const { heard } = await populator(t, [[persistentVolumeClaims, unprotected]], {
    'persistentvolumeclaims/c': now,
  });
  assert.deepEqual(heard, [
    'patch persistentvolumeclaims/c',
    'delete pods/populate-u',
    'delete persistentvolumeclaims/prime-u',
    'patch persistentvolumeclaims/c',
  ]);
});

const claimNow = (metadata: object, spec: object = {}) => ({
  'persistentvolumeclaims/c': {
    metadata: { ...claim.metadata, ...metadata },
    spec: { ...claim.spec, ...spec },
  },
});
const finished = claimNow({ finalizers: [] }, { volumeName: 'pv' });
const deletionTimestamp = '2026-01-01T00:00:00Z';
/** `change`: of the metadata of the prime claim or pod. */
const orphans: [name: string, onServer: Record<string, object>, isDeleted: boolean, change?: object][] = [
  ['whose claim is gone', {}, true],
  ['whose claim was replaced', claimNow({ uid: 'another' }), true],
  ['whose claim is populated and cleaned up', finished, true],
  ['whose claim is being deleted and cleaned up', claimNow({ finalizers: [], deletionTimestamp }), true],
  ['whose claim only the server shows', claimNow({}), false],
  ['whose claim is not populated yet', claimNow({ finalizers: [] }), false],
  ['whose claim is not cleaned up', claimNow({}, { volumeName: 'pv' }), false],
  ['that is being deleted', {}, false, { deletionTimestamp }],
  ['of which nothing says whose it is', {}, false, { annotations: {} }],
  ['that is none', {}, false, { name: 'mine' }],
];
for (const [name, onServer, isDeleted, change] of orphans) {
  const verdict = `${name} is ${isDeleted ? '' : 'not '}deleted`;
  const given = (metadata: object) => ({ metadata: { ...metadata, annotations, ...change } });
  const removal = 'delete pods/populate-u';

  test(`a prime claim ${verdict}`, async (t) => {
    const late = { ...prime, ...given(prime.metadata) };
    const { heard } = await populator(t, [[persistentVolumeClaims, late]], onServer);
    assert.deepEqual(heard, isDeleted ? [removal, 'delete persistentvolumeclaims/prime-u {"uid":"pu"}'] : []);
  });
  test(`a populator pod ${verdict}`, async (t) => {
    const { heard, informers, clock } = await populator(t, [], onServer);
    informers.change(pods, undefined, { ...pod('Running'), ...given(pod('').metadata) });
    await clock.settle();
    assert.deepEqual(heard, isDeleted ? [`${removal} {"uid":"pod"}`] : []);
  });
}

test('what is created for a claim once it was cleaned up is deleted when the cache shows that', async (t) => {
  const now = finished['persistentvolumeclaims/c'];
  const bound = { ...now, metadata: claim.metadata };
  const late = { ...prime, metadata: { ...prime.metadata, annotations } };
  const { heard, informers, clock } = await populator(t, [[persistentVolumeClaims, bound]], finished);
  heard.length = 0;
  informers.change(persistentVolumeClaims, undefined, late);
  informers.change(persistentVolumeClaims, bound, now);
  await clock.settle();
  assert.deepEqual(heard, ['delete pods/populate-u', 'delete persistentvolumeclaims/prime-u {"uid":"pu"}']);
});
