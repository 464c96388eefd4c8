import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CSIDriver, csiDriverDesigns, csiDrivers } from '../../api/kinds.ts';
import { ANN_INLINE_HANDLES } from '../../api/well-known.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import { changesOf } from '../../runtime/informer/testing/woken-loops.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { objectsLike, testWakes } from '../testing/wake-rows.ts';
import { createCsiDriverMapping } from './csi-driver-mapping.ts';
import { decideMapping } from './decide-mapping.ts';

const design = objectsLike('d.example');

const failures: [string, KubeError | undefined, { events: string[]; isRetried: boolean }][] = [
  ['succeeds is done once the watch shows the object', undefined, { events: [], isRetried: false }],
  [
    'finds an object that the watch has not shown is retried quietly',
    new KubeError({ reason: 'AlreadyExists', code: 409, message: 'exists' }),
    { events: [], isRetried: true },
  ],
  [
    'is refused is reported and retried',
    new KubeError({ reason: 'Forbidden', code: 403, message: 'no' }),
    {
      events: ['CSIDriverNotMapped: cannot create CSIDriver d.example of storage.k8s.io/v1: no'],
      isRetried: true,
    },
  ],
];
for (const [name, failure, expected] of failures)
  test(`a mapping whose creation ${name}`, async (t) => {
    const clock = new VirtualClock();
    const informers = manualInformers();
    const events: string[] = [];
    let attempts = 0;
    const kube = {
      async create(_resource: unknown, object: CSIDriver) {
        attempts++;
        if (failure && attempts === 1) throw failure;
        informers.change(csiDrivers, undefined, object);
      },
    } as unknown as KubeClient;
    const recorder = {
      event: (_object: unknown, _type: string, reason: string, message: string) =>
        void events.push(`${reason}: ${message}`),
      flush: async () => {},
    } as never;
    const ports = { kube, informers, recorder, clock, random: seededRandom(1), log: silentLog };
    const controller = createCsiDriverMapping(ports);
    informers.change(csiDriverDesigns, undefined, design());
    const stop = new AbortController();
    t.after(() => stop.abort());
    void controller.run(stop.signal);
    await clock.advance(10_000);
    assert.deepEqual(events, expected.events);
    assert.equal(attempts, expected.isRetried ? 2 : 1);
  });

test('the handles of inline volumes carry over, where the design names them', () => {
  const annotationsOf = (metadata: object) => {
    const [step] = decideMapping(design({ metadata }) as never, undefined);
    return step?.do === 'create' ? step.object.metadata : undefined;
  };
  assert.deepEqual(annotationsOf({ annotations: { [ANN_INLINE_HANDLES]: 'x', other: 'y' } })?.annotations, {
    [ANN_INLINE_HANDLES]: 'x',
  });
  assert.equal('annotations' in (annotationsOf({ annotations: { other: 'y' } }) ?? {}), false);
  assert.equal('annotations' in (annotationsOf({}) ?? {}), false);
});

const MAPPING = ['csidriver-mapping'];
const [designs, drivers] = [changesOf(csiDriverDesigns), changesOf(csiDrivers)];
testWakes('the mapping of drivers', createCsiDriverMapping, [
  ['a design', designs(undefined, design()), MAPPING],
  ['a changed design', designs(design(), design()), MAPPING],
  ['the end of a design', designs(design(), undefined), MAPPING],
  ['a driver', drivers(undefined, design()), MAPPING],
  ['the end of a driver', drivers(design(), undefined), MAPPING],
]);
