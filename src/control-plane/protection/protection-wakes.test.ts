// Which changes wake the loops that protect objects, and what makes a claim count as unused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttributesClasses,
} from '../../api/kinds.ts';
import { FINALIZER_PVC_PROTECTION, FINALIZER_VAC_PROTECTION } from '../../api/well-known.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import { changesOf } from '../../runtime/informer/testing/woken-loops.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { deleting, objectsLike, testWakes } from '../testing/wake-rows.ts';
import { createClaimProtection } from './claim-protection.ts';
import { createUnusedCondition } from './claim-unused.ts';
import { createClassProtection } from './class-protection.ts';
import { LivePods } from './live-pods.ts';

const protectedClaim = { namespace: 'ns', finalizers: [FINALIZER_PVC_PROTECTION] };
const claim = objectsLike('c', { metadata: protectedClaim });
const bound = objectsLike('c', { metadata: protectedClaim, status: { phase: 'Bound' } });
const pod = objectsLike('p', {
  metadata: { namespace: 'ns' },
  spec: { nodeName: 'n', volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
});
const ended = { status: { phase: 'Succeeded' } };
const claims = changesOf(persistentVolumeClaims);
const podChanges = changesOf(pods);
const told = { status: { conditions: [{ type: 'Unused', status: 'True' }] } };
const used = { status: { conditions: [{ type: 'Unused', status: 'False' }] } };
const [PROTECTION, UNUSED] = ['claim-protection', 'claim-unused'] as const;

testWakes(
  'claims, with their condition Unused',
  (ports) => createClaimProtection({ ...ports, gates: { PersistentVolumeClaimUnusedSinceTime: true } }),
  [
    ['a bound claim', claims(undefined, bound()), [UNUSED]],
    ['a claim that becomes bound', claims(claim(), bound()), [UNUSED]],
    [
      'a claim whose condition has changed, perhaps by a decision of before its pod came',
      claims(bound({ status: used.status }), bound({ status: told.status })),
      [UNUSED],
    ],
    ['a claim that is not bound', claims(undefined, claim()), []],
    [
      'a bound claim that is being deleted',
      claims(bound(), bound({ metadata: { ...protectedClaim, ...deleting.metadata } })),
      [PROTECTION],
    ],
    ['a claim with the condition', claims(undefined, bound(told)), []],
    [
      'a claim with another condition',
      claims(undefined, bound({ status: { conditions: [{ type: 'Resizing' }] } })),
      [UNUSED],
    ],
    ['a pod', podChanges(undefined, pod()), [UNUSED]],
    ['a pod without claims', podChanges(undefined, objectsLike('q')()), []],
    ['a pod that runs on', podChanges(pod(), pod({ status: { phase: 'Running' } })), []],
    ['a pod that ends', podChanges(pod(), pod(ended)), [UNUSED]],
    ['a pod of the same name', podChanges(pod(), pod({ metadata: { uid: 'x' } })), [UNUSED]],
    [
      'a pod of the same name with other claims',
      podChanges(pod(), pod({ metadata: { uid: 'x' }, spec: { volumes: [] } })),
      [UNUSED],
    ],
    ['the end of a pod', podChanges(pod(), undefined), [UNUSED]],
  ],
);

testWakes('claims, without the gate', createClaimProtection, [
  ['a bound claim', claims(undefined, bound()), []],
  ['the end of a pod', podChanges(pod(), undefined), []],
  ['the end of the pod of a claim', podChanges(pod(), undefined), [], [[persistentVolumeClaims, claim()]]],
  [
    'the end of the pod of a claim that is being deleted',
    podChanges(pod(), undefined),
    [PROTECTION],
    [[persistentVolumeClaims, claim(deleting)]],
  ],
  [
    'a change of that pod',
    podChanges(pod(), pod(ended)),
    [PROTECTION],
    [[persistentVolumeClaims, claim(deleting)]],
  ],
]);

const vac = objectsLike('gold', { metadata: { finalizers: [FINALIZER_VAC_PROTECTION] } });
const going: [typeof volumeAttributesClasses, object][] = [[volumeAttributesClasses, vac(deleting)]];
const gold = { spec: { volumeAttributesClassName: 'gold' } };
const volumes = changesOf(persistentVolumes);
const volume = objectsLike('pv');
testWakes('classes', createClassProtection, [
  ['a class', changesOf(volumeAttributesClasses)(undefined, vac()), []],
  [
    'a class without the finalizer',
    changesOf(volumeAttributesClasses)(undefined, objectsLike('gold')()),
    ['class-protection'],
  ],
  [
    'a class that is being deleted',
    changesOf(volumeAttributesClasses)(vac(), vac(deleting)),
    ['class-protection'],
  ],
  ['the end of a claim', claims(claim(gold), undefined), [], [[volumeAttributesClasses, vac()]]],
  ['the end of a claim of a class that goes', claims(claim(gold), undefined), ['class-protection'], going],
  [
    'the end of a claim that has it',
    claims(claim({ status: { currentVolumeAttributesClassName: 'gold' } }), undefined),
    ['class-protection'],
    going,
  ],
  [
    'the end of a claim that is modified to it',
    claims(claim({ status: { modifyVolumeStatus: { targetVolumeAttributesClassName: 'gold' } } }), undefined),
    ['class-protection'],
    going,
  ],
  [
    'the end of a claim without a class',
    claims(claim({ spec: { volumeAttributesClassName: '' } }), undefined),
    [],
    going,
  ],
  ['a claim that leaves it', claims(claim(gold), claim()), ['class-protection'], going],
  ['the end of a volume of it', volumes(volume(gold), undefined), ['class-protection'], going],
  ['a volume that leaves it', volumes(volume(gold), volume()), ['class-protection'], going],
  ['the end of another volume', volumes(volume(), undefined), [], going],
]);

const ephemeral = (controller: boolean, uid = 'uid-p') => ({
  claim: bound({ metadata: { name: 'p-e', ownerReferences: [{ uid, controller }] } }),
  pod: pod({ spec: { volumes: [{ name: 'e', ephemeral: {} }] } }),
});
const uses: [string, { claim?: object; cached?: object; live?: object }, 'True' | 'False' | undefined][] = [
  ['no pod refers to it', {}, 'True'],
  ['a pod in the cache refers to it', { cached: pod() }, 'False'],
  ['a pod that only the server has refers to it', { live: pod() }, 'False'],
  ['the pod has no node', { live: pod({ spec: { nodeName: undefined } }) }, 'False'],
  ['the pod has ended', { cached: pod(ended), live: pod(ended) }, 'True'],
  ['the pod is of another namespace', { live: pod({ metadata: { namespace: 'other' } }) }, 'True'],
  [
    'the pod has another claim',
    { live: pod({ spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'd' } }] } }) },
    'True',
  ],
  ['the pod has no volumes', { live: pod({ spec: { volumes: undefined } }) }, 'True'],
  ['the pod it was made for is there', { claim: ephemeral(true).claim, live: ephemeral(true).pod }, 'False'],
  ['it was made for another pod', { claim: ephemeral(true, 'x').claim, live: ephemeral(true).pod }, 'True'],
  [
    'the pod owns it without controlling it',
    { claim: ephemeral(false).claim, live: ephemeral(true).pod },
    'True',
  ],
  ['it is known already', { claim: bound(told) }, undefined],
  ['it was unused before', { claim: bound(told), live: pod() }, 'False'],
  ['it is not bound', { claim: claim() }, undefined],
  ['it is being deleted', { claim: bound(deleting) }, undefined],
];
for (const [name, given, expected] of uses)
  test(`the condition Unused of a claim becomes ${expected ?? 'nothing else'} when ${name}`, async (t) => {
    const clock = new VirtualClock();
    const informers = manualInformers();
    const patches: { status: { conditions: [Record<string, string>] } }[] = [];
    const kube = {
      list: async () => ({ items: given.live ? [given.live] : [] }),
      patch: async (_resource: unknown, _name: unknown, patch: (typeof patches)[0]) =>
        void patches.push(patch),
    } as unknown as KubeClient;
    const [claimCache, podCache] = [informers.of(persistentVolumeClaims), informers.of(pods)];
    const loop = createUnusedCondition(
      { kube, informers, clock, random: seededRandom(1), log: silentLog, recorder: undefined as never },
      { claims: claimCache, pods: podCache, livePods: new LivePods(kube) },
    );
    const object = (given.claim ?? bound()) as PersistentVolumeClaim;
    informers.change(persistentVolumeClaims, undefined, object);
    if (given.cached) informers.change(pods, undefined, given.cached as Pod);
    const stop = new AbortController();
    t.after(() => stop.abort());
    loop.add(`ns/${object.metadata.name}`);
    void loop.run(stop.signal);
    await clock.advance(1000);
    const found = patches.map(({ status: { conditions } }) => conditions[0]);
    assert.deepEqual(
      found.map((each) => each?.status),
      expected === undefined ? [] : [expected],
    );
    if (expected === undefined) return;
    assert.equal(found[0]?.reason, expected === 'True' ? 'NoPodsUsingPVC' : 'PodUsingPVC');
    assert.match(found[0]?.message ?? '', expected === 'True' ? /^No pods/ : /^A pod/);
    assert.match(found[0]?.lastTransitionTime ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });
