import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeClaim, Pod, StatefulSet } from '../../api/kinds.ts';
import type { OwnerReference } from '../../api/object.ts';
import { decideClaimOwners } from './claim-owners.ts';
import { decideSet, type SetStep } from './decide-set.ts';
import { claimsFor, ordinalsOf, ownedByPod, ownedBySet, podFor, revisionOf } from './set-members.ts';

const NOW = Date.parse('2026-01-01T00:01:00Z');
const stamp = { resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
type Spec = NonNullable<StatefulSet['spec']>;

function set(spec: Partial<Spec> = {}, metadata: object = {}): StatefulSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'web', namespace: 'default', uid: 'set', ...stamp, ...metadata },
    spec: {
      replicas: 3,
      serviceName: 'svc',
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'c', image: 'one' }], volumes: [{ name: 'data', emptyDir: {} }] },
      },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'] } }],
      ...spec,
    },
  };
}

type State = 'ready' | 'pending' | 'ending' | 'failed' | 'old' | 'fresh';

function pod(of: StatefulSet, ordinal: number, state: State): Pod {
  const draft = podFor(of, ordinal);
  const isRunning = state === 'ready' || state === 'old' || state === 'fresh' || state === 'ending';
  return {
    ...draft,
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: '',
      ...draft.metadata,
      ...stamp,
      uid: `pod-${ordinal}`,
      labels: {
        ...draft.metadata.labels,
        ...(state === 'old' && { 'controller-revision-hash': 'web-earlier' }),
      },
      ...(state === 'ending' && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    status: {
      phase: state === 'failed' ? 'Failed' : isRunning ? 'Running' : 'Pending',
      conditions: [
        {
          type: 'Ready',
          status: isRunning ? 'True' : 'False',
          lastTransitionTime: state === 'fresh' ? '2026-01-01T00:00:58Z' : '2026-01-01T00:00:00Z',
        },
      ],
    },
  };
}

function claim(ordinal: number, metadata: object = {}): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: `data-web-${ordinal}`,
      namespace: 'default',
      uid: `c${ordinal}`,
      ...stamp,
      ...metadata,
    },
    spec: {},
  };
}

/** A step as a short text, for tables. */
const ownersOf = ({ metadata }: { metadata: { ownerReferences?: OwnerReference[] } }) =>
  (metadata.ownerReferences ?? []).map(({ uid }) => uid);

function shown(step: SetStep): string {
  switch (step.do) {
    case 'create-claim':
      return [`claim ${step.claim.metadata.name}`, ...ownersOf(step.claim)].join(' of ');
    case 'create-pod':
      return `create ${step.pod.metadata.name}`;
    case 'delete-pod':
      return `delete ${step.pod.metadata.name}`;
    case 'set-claim-owners':
      return `owners ${step.claim.metadata.name} ${step.owners.map(({ uid }) => uid).join('+')}`;
    case 'wait':
      return `wait ${step.ms}`;
  }
}

function decided(of: StatefulSet, states: Record<number, State>, claims?: PersistentVolumeClaim[]): string[] {
  const pods = Object.entries(states).map(([ordinal, state]) => pod(of, Number(ordinal), state));
  const existing = claims ?? Object.keys(states).map((ordinal) => claim(Number(ordinal)));
  const claimNamed = (name: string) => existing.find(({ metadata }) => metadata.name === name);
  return decideSet({ set: of, pods, claimNamed, nowMs: NOW }).map(shown);
}

const parallel = { podManagementPolicy: 'Parallel' as const };
const table: { name: string; set?: StatefulSet; pods: Record<number, State>; then: string[] }[] = [
  { name: 'the first, with its claim', pods: {}, then: ['claim data-web-0', 'create web-0'] },
  { name: 'the second only when the first is ready', pods: { 0: 'pending' }, then: [] },
  { name: 'then the second', pods: { 0: 'ready' }, then: ['claim data-web-1', 'create web-1'] },
  {
    name: 'a gap is filled first',
    pods: { 0: 'ready', 2: 'ready' },
    then: ['claim data-web-1', 'create web-1'],
  },
  { name: 'all there', pods: { 0: 'ready', 1: 'ready', 2: 'ready' }, then: [] },
  { name: 'one that has ended is replaced', pods: { 0: 'failed', 1: 'ready' }, then: ['delete web-0'] },
  { name: 'one that is ending is waited for', pods: { 0: 'ready', 1: 'ending' }, then: [] },
  {
    name: 'ready is not yet available',
    set: set({ minReadySeconds: 10 }),
    pods: { 0: 'fresh' },
    then: ['wait 8000'],
  },
  {
    name: 'scaled down from the last',
    set: set({ replicas: 1 }),
    pods: { 0: 'ready', 1: 'ready', 2: 'ready' },
    then: ['delete web-2'],
  },
  {
    name: 'one at a time',
    set: set({ replicas: 1 }),
    pods: { 0: 'ready', 1: 'ready', 2: 'ending' },
    then: [],
  },
  {
    name: 'not while one that stays is in trouble',
    set: set({ replicas: 1 }),
    pods: { 0: 'pending', 1: 'ready' },
    then: [],
  },
  {
    name: 'the unready last waits for an unready one before it',
    set: set({ replicas: 1 }),
    pods: { 0: 'ready', 1: 'pending', 2: 'pending' },
    then: [],
  },
  {
    name: 'to nothing',
    set: set({ replicas: 0 }),
    pods: { 0: 'ready' },
    then: ['delete web-0'],
  },
  {
    name: 'counted from elsewhere',
    set: set({ replicas: 1, ordinals: { start: 5 } }),
    pods: {},
    then: ['claim data-web-5', 'create web-5'],
  },
  {
    name: 'all at once where that is asked for',
    set: set({ replicas: 2, ...parallel }),
    pods: {},
    then: ['claim data-web-0', 'create web-0', 'claim data-web-1', 'create web-1'],
  },
  {
    name: 'and down at once',
    set: set({ replicas: 0, ...parallel }),
    pods: { 0: 'pending', 1: 'ready' },
    then: ['delete web-1', 'delete web-0'],
  },
  {
    name: 'an older template: the last first',
    pods: { 0: 'old', 1: 'old', 2: 'old' },
    then: ['delete web-2'],
  },
  { name: 'then the next', pods: { 0: 'old', 1: 'old', 2: 'ready' }, then: ['delete web-1'] },
  {
    name: 'not those below the partition',
    set: set({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } }),
    pods: { 0: 'old', 1: 'old', 2: 'ready' },
    then: [],
  },
  {
    name: 'not at all where the user replaces them',
    set: set({ updateStrategy: { type: 'OnDelete' } }),
    pods: { 0: 'old', 1: 'old', 2: 'old' },
    then: [],
  },
  {
    name: 'those at the partition and above',
    set: set({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } }),
    pods: { 0: 'old', 1: 'old', 2: 'ready' },
    then: ['delete web-1'],
  },
  {
    name: 'the next only when the last is available',
    set: set({ minReadySeconds: 10, ...parallel }),
    pods: { 0: 'old', 1: 'old', 2: 'fresh' },
    then: ['wait 8000'],
  },
  {
    name: 'the next only when the last has ended and is made anew',
    set: set({ ...parallel }),
    pods: { 0: 'old', 1: 'old', 2: 'ending' },
    then: [],
  },
  {
    name: 'the next only when the last is ready',
    set: set({ ...parallel }),
    pods: { 0: 'old', 1: 'old', 2: 'pending' },
    then: [],
  },
  {
    name: 'no older one while the set is scaled down',
    set: set({ replicas: 2 }),
    pods: { 0: 'old', 1: 'old', 2: 'ready' },
    then: ['delete web-2'],
  },
  {
    name: 'nor while one that is scaled away is ending',
    set: set({ replicas: 2 }),
    pods: { 0: 'old', 1: 'old', 2: 'ending' },
    then: [],
  },
  {
    name: 'scaled down from an unready one, when all before it are well',
    set: set({ replicas: 1 }),
    pods: { 0: 'ready', 1: 'ready', 2: 'pending' },
    then: ['delete web-2'],
  },
  {
    name: 'created, scaled down and replaced at once where that is asked for',
    set: set({ replicas: 2, ...parallel }),
    pods: { 1: 'old', 2: 'ready' },
    then: ['claim data-web-0', 'create web-0', 'delete web-2', 'delete web-1'],
  },
  {
    name: 'claims of a set that deletes them are its own from the start',
    set: set({ replicas: 1, persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } }),
    pods: {},
    then: ['claim data-web-0 of set', 'create web-0'],
  },
  {
    name: 'and those of a member that is scaled away go with it',
    set: set({ replicas: 1, persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' } }),
    pods: { 0: 'ready', 1: 'ready' },
    then: ['owners data-web-1 pod-1', 'delete web-1'],
  },
  {
    name: 'nothing for a set that is being deleted',
    set: set({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    pods: {},
    then: [],
  },
];

for (const { name, set: of = set(), pods, then } of table) {
  test(name, () => assert.deepEqual(decided(of, pods), then));
}

test('a claim that is going is waited for; one that is there is used', () => {
  const going = claim(0, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  assert.deepEqual(decided(set(), {}, [going]), []);
  const ofEarlierPod = claim(0, { ownerReferences: [ownedByPod(pod(set(), 0, 'ready'))] });
  assert.deepEqual(decided(set(), {}, [ofEarlierPod]), []);
  assert.deepEqual(decided(set(), {}, [claim(0)]), ['create web-0']);
  assert.deepEqual(decided(set({ replicas: 1 }), { 0: 'pending' }, []), ['claim data-web-0']);
});

test('who owns the claims, by the retention policy', () => {
  const retention = (whenDeleted: string, whenScaled: string) =>
    set({ replicas: 1, persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled } });
  const [kept, scaled] = [false, true];
  const rows: [StatefulSet, boolean, string[]][] = [
    [retention('Retain', 'Retain'), kept, []],
    [retention('Retain', 'Retain'), scaled, []],
    [retention('Delete', 'Retain'), kept, ['set']],
    [retention('Delete', 'Retain'), scaled, ['set']],
    [retention('Retain', 'Delete'), kept, []],
    [retention('Retain', 'Delete'), scaled, ['pod-1']],
    [retention('Delete', 'Delete'), kept, ['set']],
    [retention('Delete', 'Delete'), scaled, ['pod-1']],
  ];
  for (const [of, isScaledAway, uids] of rows) {
    const member = pod(of, 1, 'ready');
    for (const before of [[], [ownedBySet(of)], [ownedByPod(member)]]) {
      const snapshot = { set: of, claim: claim(1, { ownerReferences: before }), pod: member, isScaledAway };
      const next = decideClaimOwners(snapshot) ?? before;
      assert.deepEqual(
        next.map(({ uid }) => uid),
        uids,
      );
    }
  }
});

test('claims whose references are not the controller’s: put right, or left to the controller that they have', () => {
  const of = set({
    replicas: 1,
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Delete' },
  });
  const retaining = set({ replicas: 1 });
  const member = pod(of, 1, 'ready');
  const plain = ({ controller, ...reference }: OwnerReference) => reference;
  const foreign = { apiVersion: 'v1', kind: 'Thing', name: 'x', uid: 'x', controller: true };
  const friend = plain(foreign);
  const rows: [string, StatefulSet, OwnerReference[], OwnerReference[] | undefined][] = [
    ['an owner that is not the controller becomes it', of, [plain(ownedBySet(of))], [ownedBySet(of)]],
    ['one that should not own it goes', of, [plain(ownedByPod(member))], [ownedBySet(of)]],
    ['other owners stay', of, [friend, plain(ownedBySet(of))], [friend, ownedBySet(of)]],
    ['another controller: nothing is added', of, [foreign], undefined],
    ['another controller: the set is no owner beside it', of, [foreign, plain(ownedBySet(of))], [foreign]],
    ['nor is the pod', of, [plain(ownedByPod(member)), foreign], [foreign]],
    ['retained: another controller is not minded', retaining, [foreign], undefined],
    ['retained: the set goes', retaining, [foreign, plain(ownedBySet(retaining))], [foreign]],
    ['of an earlier set: left to the garbage collector', of, [{ ...ownedBySet(of), uid: 'old' }], undefined],
  ];
  for (const [name, owner, before, after] of rows) {
    const snapshot = {
      set: owner,
      claim: claim(1, { ownerReferences: before }),
      pod: member,
      isScaledAway: false,
    };
    assert.deepEqual(decideClaimOwners(snapshot), after, name);
  }
});

test('a member looks like its template, with its own name and claims', () => {
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    name: 'web',
    uid: 'set',
    controller: true,
    blockOwnerDeletion: true,
  };
  const labels = {
    app: 'web',
    'statefulset.kubernetes.io/pod-name': 'web-1',
    'apps.kubernetes.io/pod-index': '1',
    'controller-revision-hash': revisionOf(set()),
  };
  const containers = [{ name: 'c', image: 'one' }];
  const data = { name: 'data', persistentVolumeClaim: { claimName: 'data-web-1' } };
  assert.deepEqual(podFor(set(), 1), {
    metadata: { name: 'web-1', namespace: 'default', labels, ownerReferences: [owner] },
    spec: { containers, hostname: 'web-1', subdomain: 'svc', volumes: [data] },
  });
  const template = {
    metadata: { annotations: { a: 'b' }, finalizers: ['f'] },
    spec: { containers, volumes: [{ name: 'tmp', emptyDir: {} }] },
  };
  const more = podFor(set({ template, serviceName: '' }), 1);
  assert.deepEqual(more.metadata.annotations, { a: 'b' });
  assert.deepEqual(more.metadata.finalizers, ['f']);
  assert.deepEqual(more.spec, {
    containers,
    hostname: 'web-1',
    volumes: [data, { name: 'tmp', emptyDir: {} }],
  });
  const { volumeClaimTemplates: _none, ...rest } = set().spec as Spec;
  const bare = podFor({ ...set(), spec: { ...rest, template: { spec: { containers } } } }, 1);
  assert.deepEqual(bare.spec.volumes, []);
  assert.deepEqual(claimsFor({ ...set(), spec: rest }, 1), []);
});

test('a claim looks like its template, with the labels by which the set is selected', () => {
  const spec = { accessModes: ['ReadWriteOnce'] };
  const metadata = { name: 'data', labels: { tier: 'db', app: 'other' }, annotations: { a: 'b' } };
  const volumeClaimTemplates = [
    { metadata, spec },
    { metadata: { name: 'log' }, spec },
  ];
  assert.deepEqual(claimsFor(set({ volumeClaimTemplates }), 2), [
    {
      metadata: {
        name: 'data-web-2',
        namespace: 'default',
        labels: { tier: 'db', app: 'web' },
        annotations: { a: 'b' },
      },
      spec,
    },
    { metadata: { name: 'log-web-2', namespace: 'default', labels: { app: 'web' } }, spec },
  ]);
});

test('a set without a number of replicas has one, numbered from its first ordinal', () => {
  const { replicas: _none, ...rest } = set().spec as Spec;
  assert.deepEqual(ordinalsOf({ ...set(), spec: rest }), [0]);
  assert.deepEqual(ordinalsOf(set({ replicas: 2, ordinals: { start: 5 } })), [5, 6]);
});

test('a reference to something else of the name of the set or its pod is not theirs', () => {
  const of = set({ persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' } });
  const member = pod(of, 1, 'ready');
  const alike = (reference: OwnerReference, change: object) => {
    const { controller: _none, ...rest } = reference;
    return { ...rest, ...change };
  };
  const others = [
    alike(ownedBySet(of), { apiVersion: 'apps.example/v1' }),
    alike(ownedBySet(of), { kind: 'Deployment' }),
    alike(ownedBySet(of), { name: 'other' }),
    alike(ownedByPod(member), { apiVersion: 'example/v1' }),
    alike(ownedByPod(member), { kind: 'Job' }),
    alike(ownedByPod(member), { name: 'web-7' }),
  ];
  for (const other of others) {
    const snapshot = {
      set: of,
      claim: claim(1, { ownerReferences: [other] }),
      pod: member,
      isScaledAway: false,
    };
    assert.equal(decideClaimOwners(snapshot), undefined, JSON.stringify(other));
  }
  const ours = [ownedBySet(of), ownedByPod(member)];
  for (const each of ours) {
    const snapshot = {
      set: of,
      claim: claim(1, { ownerReferences: [each] }),
      pod: member,
      isScaledAway: false,
    };
    assert.deepEqual(decideClaimOwners(snapshot), []);
    assert.equal(each.controller && each.blockOwnerDeletion, true);
  }
});

test('a template with another order of fields is the same template', () => {
  const template = (spec: object) => set({ template: { spec: spec as never } });
  assert.equal(
    revisionOf(template({ hostname: 'a', containers: [] })),
    revisionOf(template({ containers: [], hostname: 'a' })),
  );
  assert.notEqual(revisionOf(template({ containers: [] })), revisionOf(template({ containers: [{}] })));
});
