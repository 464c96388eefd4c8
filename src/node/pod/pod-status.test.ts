import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../api/kinds.ts';
import { ANN_PUBLISHED_VOLUMES } from '../../api/well-known.ts';
import { podNeed } from './pod-phase.ts';
import { type PodVolumesState, podStatusPatch } from './pod-status.ts';

const NOW = Date.parse('2030-01-01T00:00:10Z');
const pod = (over: { phase?: string; annotations?: Record<string, string> } = {}): Pod =>
  ({
    metadata: {
      name: 'p',
      namespace: 'ns',
      uid: 'u',
      resourceVersion: '7',
      ...(over.annotations && { annotations: over.annotations }),
    },
    spec: { containers: [{ name: 'main', image: 'i' }] },
    status: { phase: over.phase ?? 'Pending' },
  }) as unknown as Pod;

describe('what a pod needs of its node', () => {
  const cases: [string, Pod, number | undefined, ReturnType<typeof podNeed>][] = [
    ['a new pod: its volumes', pod(), undefined, { kind: 'volumes' }],
    ['a finished pod: nothing', pod({ phase: 'Succeeded' }), undefined, { kind: 'nothing' }],
    ['a failed pod: nothing', pod({ phase: 'Failed' }), undefined, { kind: 'nothing' }],
    [
      'a running pod in its grace period: its volumes, until it is over',
      pod({ phase: 'Running' }),
      10_000,
      { kind: 'volumes', leftMs: 10_000 },
    ],
    ['a running pod after its grace period: nothing', pod({ phase: 'Running' }), 0, { kind: 'nothing' }],
    ['one that never ran has no grace to keep', pod(), 60_000, { kind: 'nothing' }],
  ];
  for (const [name, given, leftMs, then] of cases) {
    test(name, () => assert.deepEqual(podNeed(given, leftMs), then));
  }
});

describe('the status of a pod', () => {
  const state = (over: Partial<PodVolumesState> = {}): PodVolumesState => ({
    ready: true,
    waits: new Map(),
    published: new Map([['data', '/path']]),
    ...over,
  });
  interface Patch {
    metadata: { annotations: Record<string, string | null> };
    status: {
      phase: string;
      startTime: string;
      conditions: {
        type: string;
        status: string;
        reason: string | null;
        message?: string;
        lastTransitionTime: string;
      }[];
      containerStatuses: { ready: boolean; state: object }[];
    };
  }
  /** As the API server merges it: null removes. */
  const apply = (to: Pod, { metadata, status }: Patch): Pod => {
    const annotations = Object.fromEntries(
      Object.entries(metadata.annotations).filter(([, value]) => value !== null),
    );
    return { ...to, metadata: { ...to.metadata, annotations }, status } as unknown as Pod;
  };

  test('says once that it runs and where its volumes are', () => {
    const patch = podStatusPatch(pod(), state(), NOW) as Patch;
    assert.equal(patch.status.phase, 'Running');
    assert.equal(patch.metadata.annotations[ANN_PUBLISHED_VOLUMES], '{"data":"/path"}');
    assert.equal(podStatusPatch(apply(pod(), patch), state(), NOW + 5000), undefined);
  });

  test('says what it waits for, each volume by name', () => {
    const waits = new Map([
      ['b', 'second'],
      ['a', 'first'],
    ]);
    const patch = podStatusPatch(pod(), state({ ready: false, waits, published: new Map() }), NOW) as Patch;
    assert.equal(patch.status.phase, 'Pending');
    const ready = patch.status.conditions.find(({ type }) => type === 'Ready');
    assert.equal(ready?.message, 'volume a: first; volume b: second');
  });

  test('stays as it is while a running pod’s volume is healed', () => {
    const running = apply(pod(), podStatusPatch(pod(), state(), NOW) as Patch);
    assert.equal(podStatusPatch(running, state({ ready: false, published: new Map() }), NOW), undefined);
  });

  const later = NOW + 60_000;
  const waiting = (why: string) =>
    state({ ready: false, waits: new Map([['data', why]]), published: new Map() });

  test('is written again only when it says something else', () => {
    const pending = apply(pod(), podStatusPatch(pod(), waiting('first'), NOW) as Patch);
    assert.equal(podStatusPatch(pending, waiting('first'), later), undefined);
    assert.notEqual(podStatusPatch(pending, waiting('second'), later), undefined);
    const running = apply(pending, podStatusPatch(pending, state(), later) as Patch);
    assert.equal(podStatusPatch(running, state(), later), undefined);
    const moved = state({ published: new Map([['data', '/elsewhere']]) });
    const patch = podStatusPatch(running, moved, later) as Patch;
    assert.equal(patch.metadata.annotations[ANN_PUBLISHED_VOLUMES], '{"data":"/elsewhere"}');
  });

  test('is corrected after a condition was changed by others', () => {
    const running = apply(pod(), podStatusPatch(pod(), state(), NOW) as Patch);
    const conditions = running.status?.conditions?.map((each) =>
      each.type === 'Ready' ? { ...each, status: 'False' } : each,
    );
    const changed = { ...running, status: { ...running.status, conditions } } as Pod;
    const patch = podStatusPatch(changed, state(), later) as Patch;
    assert.deepEqual(
      patch.status.conditions.map(({ type, status, lastTransitionTime }) => [
        type,
        status,
        lastTransitionTime,
      ]),
      [
        ['Initialized', 'True', '2030-01-01T00:00:10Z'],
        ['ContainersReady', 'True', '2030-01-01T00:00:10Z'],
        ['Ready', 'True', '2030-01-01T00:01:10Z'],
        ['PodReadyToStartContainers', 'True', '2030-01-01T00:00:10Z'],
      ],
    );
  });

  test('is the same in whichever order volumes were published', () => {
    const paths = [
      ['b', '/b'],
      ['a', '/a'],
    ] as const;
    const patch = podStatusPatch(pod(), state({ published: new Map(paths) }), NOW) as Patch;
    assert.equal(patch.metadata.annotations[ANN_PUBLISHED_VOLUMES], '{"a":"/a","b":"/b"}');
  });

  test('of a pod that has none yet is written whole', () => {
    const { status: _none, ...created } = pod();
    const patch = podStatusPatch(created as Pod, waiting('first'), NOW) as Patch;
    assert.equal(patch.status.phase, 'Pending');
    assert.equal(patch.status.startTime, '2030-01-01T00:00:10Z');
  });

  test('keeps the times of what did not change', () => {
    const first = podStatusPatch(pod(), waiting('first'), NOW) as Patch;
    const then = podStatusPatch(apply(pod(), first), state(), later) as Patch;
    assert.equal(then.status.startTime, '2030-01-01T00:00:10Z');
    const since = (patch: Patch, wanted: string) =>
      patch.status.conditions.find(({ type }) => type === wanted)?.lastTransitionTime;
    assert.equal(since(then, 'Initialized'), '2030-01-01T00:00:10Z');
    assert.equal(since(then, 'Ready'), '2030-01-01T00:01:10Z');
    const running = apply(pod(), then);
    const moved = state({ published: new Map([['data', '/elsewhere']]) });
    const again = podStatusPatch(running, moved, later + 60_000) as Patch;
    assert.deepEqual(again.status.containerStatuses, then.status.containerStatuses);
  });

  test('says of containers that they wait, or run', () => {
    const containers = (volumes: PodVolumesState) =>
      (podStatusPatch(pod(), volumes, NOW) as Patch).status.containerStatuses.map(
        ({ ready, state: now }) => ({
          ready,
          now,
        }),
      );
    assert.deepEqual(containers(waiting('first')), [
      { ready: false, now: { waiting: { reason: 'ContainerCreating', message: 'volume data: first' } } },
    ]);
    assert.deepEqual(containers(state()), [
      { ready: true, now: { running: { startedAt: '2030-01-01T00:00:10Z' } } },
    ]);
    const silent = podStatusPatch(pod(), { ...waiting(''), waits: new Map() }, NOW) as Patch;
    const ready = silent.status.conditions.find(({ type }) => type === 'Ready');
    assert.equal(ready?.message, 'waiting for volumes to be mounted');
  });

  test('of a pod without volumes lists no paths, and clears earlier waiting reasons', () => {
    const patch = podStatusPatch(pod(), state({ published: new Map() }), NOW) as Patch;
    assert.equal(patch.metadata.annotations[ANN_PUBLISHED_VOLUMES], null);
    assert.deepEqual(
      patch.status.conditions.map(({ status, reason }) => [status, reason]),
      Array.from({ length: 4 }, () => ['True', null]),
    );
  });

  test('of a pod that is rejected says why, and nothing of containers', () => {
    const rejected = { reason: 'Full', message: 'no room' };
    assert.deepEqual(podStatusPatch(pod(), state({ rejected }), NOW), {
      metadata: { uid: 'u', resourceVersion: '7', annotations: { [ANN_PUBLISHED_VOLUMES]: null } },
      status: { phase: 'Failed', ...rejected, conditions: null, containerStatuses: null },
    });
  });
});
