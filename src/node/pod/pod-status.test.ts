import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../api/kinds.ts';
import { ANN_PUBLISHED_VOLUMES } from '../../api/well-known.ts';
import { podNeed } from './pod-phase.ts';
import { type PodVolumesState, podStatusPatch } from './pod-status.ts';

const NOW = Date.parse('2030-01-01T00:00:10Z');
const pod = (over: { phase?: string; deletion?: string; annotations?: Record<string, string> } = {}): Pod =>
  ({
    metadata: {
      name: 'p',
      namespace: 'ns',
      uid: 'u',
      ...(over.deletion && { deletionTimestamp: over.deletion }),
      ...(over.annotations && { annotations: over.annotations }),
    },
    spec: { containers: [{ name: 'main', image: 'i' }] },
    status: { phase: over.phase ?? 'Pending' },
  }) as unknown as Pod;

describe('what a pod needs of its node', () => {
  const cases: [string, Pod, ReturnType<typeof podNeed>][] = [
    ['a new pod: its volumes', pod(), { kind: 'volumes' }],
    ['a finished pod: nothing', pod({ phase: 'Succeeded' }), { kind: 'nothing' }],
    ['a failed pod: nothing', pod({ phase: 'Failed' }), { kind: 'nothing' }],
    [
      'a running pod in its grace period: its volumes, until it is over',
      pod({ phase: 'Running', deletion: '2030-01-01T00:00:20Z' }),
      { kind: 'volumes', untilMs: NOW + 10_000 },
    ],
    [
      'a running pod after its grace period: nothing',
      pod({ phase: 'Running', deletion: '2030-01-01T00:00:10Z' }),
      { kind: 'nothing' },
    ],
    [
      'one that never ran has no grace to keep',
      pod({ deletion: '2030-01-01T00:01:00Z' }),
      { kind: 'nothing' },
    ],
  ];
  for (const [name, given, then] of cases) {
    test(name, () => assert.deepEqual(podNeed(given, NOW), then));
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
    status: { phase: string; conditions: { type: string; status: string; message?: string }[] };
  }
  const apply = (to: Pod, { metadata, status }: Patch): Pod =>
    ({ ...to, metadata: { ...to.metadata, annotations: metadata.annotations }, status }) as unknown as Pod;

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
});
