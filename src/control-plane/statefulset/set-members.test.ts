import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeClaim, Pod, StatefulSet } from '../../api/kinds.ts';
import { decideClaimOwners } from './claim-owners.ts';
import { availableInMs, isReady } from './pod-availability.ts';
import {
  claimsFor,
  LABEL_REVISION,
  ordinalsOf,
  ownedByPod,
  ownedBySet,
  parentAndOrdinal,
  podFor,
  revisionOf,
} from './set-members.ts';

const set = (spec?: object): StatefulSet =>
  ({ metadata: { name: 'web', namespace: 'ns', uid: 'uid-web' }, ...(spec && { spec }) }) as never;
const pod = (metadata: object = {}): Pod =>
  ({ metadata: { name: 'web-0', uid: 'uid-0', ...metadata } }) as never;

const parsed: [string, [string, number] | undefined][] = [
  ['web-0', ['web', 0]],
  ['web-12', ['web', 12]],
  ['a-b-3', ['a-b', 3]],
  ['web-01', undefined],
  ['web', undefined],
  ['web-', undefined],
  ['web-x', undefined],
];
for (const [name, expected] of parsed)
  test(`${name} is ${expected ? `member ${expected[1]} of ${expected[0]}` : 'no member'}`, () => {
    assert.deepEqual(parentAndOrdinal(name), expected && { parent: expected[0], ordinal: expected[1] });
  });

test('a set has one replica unless it says another number, from its first ordinal on', () => {
  assert.deepEqual(ordinalsOf(set()), [0]);
  assert.deepEqual(ordinalsOf(set({})), [0]);
  assert.deepEqual(ordinalsOf(set({ replicas: 0 })), []);
  assert.deepEqual(ordinalsOf(set({ replicas: 2, ordinals: { start: 5 } })), [5, 6]);
});

test('the revision depends on the template, not on the order of its keys', () => {
  const revision = (template?: object) => revisionOf(set(template && { template }));
  assert.equal(revision({ a: 1, b: { c: [1, 2], d: 2 } }), revision({ b: { d: 2, c: [1, 2] }, a: 1 }));
  assert.notEqual(revision({ a: 1 }), revision({ a: 2 }));
  assert.notEqual(revision({ a: [1, 2] }), revision({ a: [2, 1] }));
  assert.match(revision(), /^web-[0-9a-f]{10}$/);
  const template = { a: 1 };
  assert.equal(revision(template), revision(template));
  assert.equal(
    revisionOf({ ...set({ template }), metadata: { name: 'db' } as never }).replace('db', 'web'),
    revision(template),
  );
});

test('a member has the template’s parts, and its own name, labels and claims', () => {
  const spec = {
    serviceName: 'svc',
    template: {
      metadata: { labels: { app: 'x' }, annotations: { a: 'b' }, finalizers: ['f/g'] },
      spec: {
        containers: [],
        volumes: [
          { name: 'data', emptyDir: {} },
          { name: 'tmp', emptyDir: {} },
        ],
      },
    },
    volumeClaimTemplates: [{ metadata: { name: 'data' } }],
  };
  const made = podFor(set(spec), 3);
  assert.deepEqual(made.metadata, {
    name: 'web-3',
    namespace: 'ns',
    labels: {
      app: 'x',
      'statefulset.kubernetes.io/pod-name': 'web-3',
      'apps.kubernetes.io/pod-index': '3',
      [LABEL_REVISION]: revisionOf(set(spec)),
    },
    annotations: { a: 'b' },
    finalizers: ['f/g'],
    ownerReferences: [ownedBySet(set())],
  });
  assert.deepEqual(made.spec, {
    containers: [],
    hostname: 'web-3',
    subdomain: 'svc',
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: 'data-web-3' } },
      { name: 'tmp', emptyDir: {} },
    ],
  });
  const bare = podFor(set({}), 0);
  assert.deepEqual(Object.keys(bare.metadata).toSorted(), ['labels', 'name', 'namespace', 'ownerReferences']);
  assert.deepEqual(bare.spec, { hostname: 'web-0', volumes: [] });
});

test('a member’s claims have the labels of the template and of the selector', () => {
  const claims = claimsFor(
    set({
      selector: { matchLabels: { app: 'x' } },
      volumeClaimTemplates: [
        {
          metadata: { name: 'data', labels: { l: 'm' }, annotations: { a: 'b' } },
          spec: { volumeMode: 'Block' },
        },
        { metadata: { name: 'log' } },
      ],
    }),
    1,
  );
  assert.deepEqual(claims, [
    {
      metadata: {
        name: 'data-web-1',
        namespace: 'ns',
        labels: { l: 'm', app: 'x' },
        annotations: { a: 'b' },
      },
      spec: { volumeMode: 'Block' },
    },
    { metadata: { name: 'log-web-1', namespace: 'ns', labels: { app: 'x' } }, spec: {} },
  ]);
  assert.deepEqual(claimsFor(set({}), 0), []);
});

const [ofSet, ofPod] = [ownedBySet(set()), ownedByPod(pod())];
const foreign = { apiVersion: 'v1', kind: 'Other', name: 'web', uid: 'x' };
const policy = (whenDeleted: string, whenScaled: string) => ({
  persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled },
});
const [keep, drop, both] = [
  policy('Retain', 'Retain'),
  policy('Delete', 'Retain'),
  policy('Delete', 'Delete'),
];
const scaling = policy('Retain', 'Delete');
const owners: [string, object, object[] | undefined, boolean, object[] | undefined][] = [
  ['none is kept', {}, undefined, false, undefined],
  ['a policy to keep needs none', keep, [], false, undefined],
  ['a policy to keep drops the set', keep, [ofSet], false, []],
  ['a policy to keep leaves others', keep, [foreign], false, undefined],
  ['the set owns what goes with it', drop, [], false, [ofSet]],
  ['the set owns it already', drop, [ofSet], false, undefined],
  ['a reference that does not control is replaced', drop, [{ ...ofSet, controller: false }], false, [ofSet]],
  ['the set is added to others', drop, [foreign], false, [foreign, ofSet]],
  ['another controller owns it', drop, [{ ...foreign, controller: true }], false, undefined],
  [
    'a set of another version does not count',
    drop,
    [{ ...ofSet, apiVersion: 'apps/v2', controller: false, uid: 'y' }],
    false,
    [{ ...ofSet, apiVersion: 'apps/v2', controller: false, uid: 'y' }, ofSet],
  ],
  ['an earlier set owns it', drop, [{ ...ofSet, uid: 'old' }], false, undefined],
  ['an earlier pod owns it', drop, [{ ...ofPod, uid: 'old' }], false, undefined],
  ['another pod’s reference stays', keep, [{ ...ofPod, name: 'q', controller: false }], false, undefined],
  ['a member that is scaled away owns it', scaling, [], true, [ofPod]],
  ['a member that stays does not', scaling, [ofPod], false, []],
  ['the pod replaces the set', both, [ofSet], true, [ofPod]],
  ['the set owns what only goes with it', drop, [ofPod], true, [ofSet]],
];
for (const [name, spec, ownerReferences, isScaledAway, expected] of owners)
  test(`owners of a claim: ${name}`, () => {
    const claim = { metadata: { name: 'c', ownerReferences } } as unknown as PersistentVolumeClaim;
    assert.deepEqual(decideClaimOwners({ set: set(spec), claim, pod: pod(), isScaledAway }), expected);
  });

test('a claim without its pod has no pod for an owner', () => {
  const claim = { metadata: { name: 'c', ownerReferences: [ofSet] } } as unknown as PersistentVolumeClaim;
  assert.deepEqual(decideClaimOwners({ set: set(both), claim, pod: undefined, isScaledAway: true }), []);
});

const ready = (status: string, lastTransitionTime?: string) => [
  { type: 'Ready', status, lastTransitionTime },
];
test('a pod is ready when it runs and says so', () => {
  const is = (status?: object) => isReady({ ...pod(), status } as unknown as Pod);
  assert.equal(is({ phase: 'Running', conditions: ready('True') }), true);
  assert.equal(is({ phase: 'Pending', conditions: ready('True') }), false);
  assert.equal(is({ phase: 'Running', conditions: ready('False') }), false);
  assert.equal(is({ phase: 'Running', conditions: [{ type: 'Other', status: 'True' }] }), false);
  assert.deepEqual([is({ phase: 'Running' }), is(undefined)], [false, false]);
});

test('a pod is available after it was ready for long enough', () => {
  const since = '2026-01-01T00:00:00Z';
  const left = (seconds: number, laterMs: number, time: string | undefined = since) =>
    availableInMs(
      { ...pod(), status: { conditions: ready('True', time) } } as unknown as Pod,
      seconds,
      Date.parse(since) + laterMs,
    );
  assert.deepEqual(
    [left(0, 0), left(10, 0), left(10, 4000), left(10, 10_000), left(10, 20_000)],
    [0, 10_000, 6000, 0, 0],
  );
  assert.equal(left(10, 4000, 'never'), 10_000, 'from now on');
});
