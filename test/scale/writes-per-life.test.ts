// What one volume's life costs does not depend on how large the cluster is: the simulation, without faults, counts each component's writes
// in lives that do not overlap, in clusters of different sizes and with several replicas. docs/scale.md has the figures, and
// src/plan/costs.ts, which `berth plan` calculates with, must agree with them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INTENT_WRITES_PER_LIFE, PART_COSTS, type PartCost } from '../../src/plan/costs.ts';
import type { Plan, Step } from '../../src/simulation/plan.ts';
import { simulate } from '../../src/simulation/simulate.ts';
import { makeStartImage } from '../../src/simulation/start-image.ts';
import { tuneThread } from '../../src/simulation/tune-thread.ts';

const LIVES = 5;
const OTHERS_AT_MS = 60_000;
const LIVES_AT_MS = 120_000;
/**
 * Long enough that nothing of one life is coalesced with the next. All end before the nodes report their status again, which they do
 * every five minutes.
 */
const LIFE_MS = 20_000;
const DRIVER = {
  name: 'd1.csi.sim',
  short: 'd1',
  attaches: true,
  stages: true,
  topology: true,
  lists: false,
  ephemeral: false,
};
const CLASS = {
  name: 'c',
  driver: DRIVER.name,
  reclaim: 'Delete',
  binding: 'Immediate',
  secrets: false,
} as const;

interface Size {
  /** Each with a node agent. */
  readonly nodes: number;
  /** Volumes beside those whose lives are counted. */
  readonly volumes: number;
  readonly replicas?: number;
}

tuneThread();
const start = await makeStartImage();

function worldOf(made: Plan, { nodes, volumes, replicas }: Size): Plan {
  const { focus: _focus, script: _script, ...rest } = made;
  const steps: Step[] = [];
  const claim = (name: string) =>
    ({ do: 'create-claim', name, className: 'c', mode: 'ReadWriteOnce' }) as const;
  for (let index = 0; index < volumes; index++) {
    steps.push({ atMs: OTHERS_AT_MS + index * 20, action: claim(`other-${index}`) });
  }
  for (let index = 0; index < LIVES; index++) {
    const atMs = LIVES_AT_MS + index * LIFE_MS;
    const [name, pod] = [`data-${index}`, `pod-${index}`];
    const node = `n${(index % nodes) + 1}`;
    steps.push(
      { atMs, action: claim(name) },
      { atMs: atMs + 1, action: { do: 'create-pod', name: pod, claims: [name], node } },
      { atMs: atMs + LIFE_MS / 2, action: { do: 'delete-pod', name: pod, graceSeconds: 0 } },
      { atMs: atMs + LIFE_MS / 2 + 1, action: { do: 'delete-claim', name } },
    );
  }
  return {
    ...rest,
    drivers: [{ ...DRIVER, replicas: replicas ?? 1 }],
    nodes: Array.from({ length: nodes }, (_, index) => ({ name: `n${index + 1}`, zone: 'a' })),
    classes: [CLASS],
    snapshotClasses: [],
    steps,
    events: [],
    faultsMs: LIVES_AT_MS + (LIVES + 2) * LIFE_MS,
    intensity: 0,
    ...(replicas !== undefined && { isSharded: true }),
  };
}

/** Writes of a life, by component and what it writes; Leases and Events are not among them. */
async function writesPerLife(size: Size): Promise<Record<string, number>> {
  const { replicas } = size;
  const { entries, violations } = await simulate(1, {
    start,
    faults: new Set(),
    change: (made) => worldOf(made, size),
    ...(replicas !== undefined && { replicas }),
  });
  assert.deepEqual(violations, []);
  const counts = new Map<string, number>();
  let phase = '';
  for (const entry of entries) {
    if (entry.kind === 'phase') phase = entry.phase;
    if (entry.kind !== 'write' || phase !== 'faults' || entry.atMs < LIVES_AT_MS) continue;
    const component = entry.actor.replace(/-.*$/, '');
    const what = `${component}: ${entry.verb} ${entry.plural}`;
    counts.set(what, (counts.get(what) ?? 0) + 1 / LIVES);
  }
  const rounded = [...counts].map(([what, count]): [string, number] => [
    what,
    Math.round(count * 1000) / 1000,
  ]);
  return Object.fromEntries(rounded.sort());
}

const LIFE = {
  'attacher: patch persistentvolumes': 2,
  'attacher: patch volumeattachments': 3,
  'control: create binding of pods': 1,
  'control: create volumeattachments': 1,
  'control: delete volumeattachments': 1,
  'control: patch nodes': 2,
  'control: update persistentvolumeclaims': 4,
  'control: update persistentvolumes': 3,
  'node: patch nodes': 2,
  'node: patch pods': 1,
  'provisioner: create persistentvolumes': 1,
  'provisioner: delete persistentvolumes': 1,
  'provisioner: patch persistentvolumes': 1,
};
/** The intent is on the claim instead of in a Lease. */
const SHARDED_LIFE = { ...LIFE, 'provisioner: update persistentvolumeclaims': INTENT_WRITES_PER_LIFE };

const cases: readonly (Size & { name: string; writes: Record<string, number> })[] = [
  { name: 'one node, no other volume', nodes: 1, volumes: 0, writes: LIFE },
  { name: 'ten nodes, 100 volumes', nodes: 10, volumes: 100, writes: LIFE },
  { name: '100 nodes', nodes: 100, volumes: 0, writes: LIFE },
  { name: '1,000 nodes', nodes: 1_000, volumes: 0, writes: LIFE },
  { name: '1,000 volumes', nodes: 10, volumes: 1_000, writes: LIFE },
  { name: 'one replica that shares', nodes: 10, volumes: 100, replicas: 1, writes: SHARDED_LIFE },
  { name: 'three replicas', nodes: 10, volumes: 100, replicas: 3, writes: SHARDED_LIFE },
  { name: 'five replicas', nodes: 10, volumes: 100, replicas: 5, writes: SHARDED_LIFE },
];

for (const { name, writes, ...size } of cases) {
  test(`[SCL-2] the writes of a life are the same in a cluster of any size: ${name}`, {
    timeout: 170_000,
  }, async () => {
    assert.deepEqual(await writesPerLife(size), writes);
  });
}

test('the costs that berth plan calculates with are those counted here', () => {
  const counted = (component: string): number =>
    Object.entries(LIFE).reduce((sum, [what, count]) => sum + (what.startsWith(component) ? count : 0), 0);
  const of = (name: keyof typeof PART_COSTS): number => (PART_COSTS[name] as PartCost).life.writes;
  // The simulation's control plane has the scheduler in it. It does not count Leases, and so not the provisioner's ledger.
  assert.deepEqual(
    [
      of('controller-manager') + of('scheduler'),
      of('attacher'),
      of('node'),
      of('provisioner'),
      of('sidecars'),
    ],
    [
      counted('control:'),
      counted('attacher:'),
      counted('node:'),
      counted('provisioner:') + INTENT_WRITES_PER_LIFE,
      counted('provisioner:') + INTENT_WRITES_PER_LIFE + counted('attacher:'),
    ],
  );
});
