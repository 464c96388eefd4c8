import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PART_COSTS, type PartCost, type PartName } from './costs.ts';
import type { PlanInput } from './load.ts';
import { planScale } from './plan.ts';
import { manifestFlagsOf, planLines, resourcesOf } from './report.ts';

const input = (more: Partial<PlanInput> = {}): PlanInput => ({
  volumes: 10_000,
  nodes: 500,
  churn: 5,
  callMs: 200,
  apiserverCores: 8,
  etcdWrites: 5_000,
  ...more,
});
const part = (more: Partial<PlanInput>, name: PartName) => {
  const found = planScale(input(more)).parts.find((each) => each.name === name);
  assert(found, name);
  return found;
};

test('the sidecars of a churn: the smallest number of replicas whose workers and event loops have room', () => {
  const cases: [name: string, given: Partial<PlanInput>, replicas: number | undefined][] = [
    ['next to nothing', { churn: 0 }, 1],
    ['ten workers of the attacher, two calls of 200 ms a life: 17.5 lives are 70 %', { churn: 17 }, 1],
    ['a little more', { churn: 18 }, 2],
    ['slow calls want more', { churn: 18, callMs: 1_000 }, 6],
    ['more workers want fewer', { churn: 18, callMs: 1_000, workers: 100 }, 1],
    ['a driver that answers at once: the event loop is the limit', { churn: 60, callMs: 0 }, 1],
    ['more lives than watching leaves room for', { churn: 5_000, callMs: 0 }, undefined],
  ];
  for (const [name, given, replicas] of cases) {
    assert.equal(planScale(input(given)).wantedReplicas, replicas, name);
  }
});

test('memory grows with volumes and nodes, and not with churn or replicas; a node agent holds its own volumes only', () => {
  for (const name of Object.keys(PART_COSTS) as PartName[]) {
    const isSeparate = ['provisioner', 'attacher', 'resizer', 'snapshotter'].includes(name);
    const { memory }: PartCost = PART_COSTS[name];
    const of = (more: Partial<PlanInput>) => part({ isSeparate, ...more }, name).memoryMb;
    assert.equal(of({ volumes: 0, nodes: 1 }), memory.baseMb + memory.kbPerNode / 1000, name);
    assert.equal(of({ churn: 50, replicas: 5 }), of({}), name);
    const tenfold = of({ volumes: 100_000, nodes: 5_000 }) - memory.baseMb;
    const expected = name === 'node' ? of({}) - memory.baseMb : (of({}) - memory.baseMb) * 10;
    assert(Math.abs(tenfold - expected) < 0.001, name);
  }
});

test('traffic grows with churn; each replica is told everything, and the work is divided', () => {
  const one = part({ churn: 1, replicas: 1 }, 'sidecars');
  const many = part({ churn: 10, replicas: 1 }, 'sidecars');
  const shared = part({ churn: 1, replicas: 4 }, 'sidecars');
  assert.equal(many.traffic.reads, one.traffic.reads * 10);
  assert.equal(shared.traffic.watchEvents, one.traffic.watchEvents * 4);
  assert.equal(shared.traffic.watchBytes, one.traffic.watchBytes * 4);
  assert.equal(shared.traffic.writes, one.traffic.writes);
  assert(shared.cores < one.cores && shared.cores > one.cores / 4);
});

test('Events of a source are ten a second at most', () => {
  const writes = (churn: number): number => part({ churn, replicas: 1 }, 'scheduler').traffic.writes;
  assert.equal(writes(5), 10);
  assert.equal(writes(50), 60);
});

test('the limit that is met first comes first', () => {
  const cases: [given: Partial<PlanInput>, what: string][] = [
    [{ churn: 2, callMs: 10_000, replicas: 1 }, 'attacher: workers'],
    [{ volumes: 1_000_000, nodes: 10_000 }, "controller manager: V8's heap"],
    [{ etcdWrites: 10 }, 'etcd: writes a second'],
    [{ churn: 40, callMs: 0, apiserverCores: 1 }, 'kube-apiserver: processor time'],
  ];
  for (const [given, what] of cases) assert.equal(planScale(input(given)).limits[0]?.what, what);
});

test('where a limit is met does not depend on how far away it is, but for what nodes cost', () => {
  for (const [index, limit] of planScale(input({ churn: 1, replicas: 1 })).limits.entries()) {
    if (limit.at.of !== 'lives a second' || limit.what.startsWith('etcd')) continue;
    const other = planScale(input({ churn: 2, replicas: 1 })).limits.find(({ what }) => what === limit.what);
    assert.equal(other?.at.number, limit.at.number, `${index} ${limit.what}`);
  }
});

test('requests are multiples of 8 MiB above what is at rest, and name the containers that manifests have', () => {
  for (const isSeparate of [true, false]) {
    const plan = planScale(input({ isSeparate }));
    const resources = resourcesOf(plan);
    assert.deepEqual(
      Object.keys(resources),
      isSeparate
        ? ['provisioner', 'attacher', 'resizer', 'snapshotter', 'snapshot-controller']
        : ['sidecars', 'snapshot-controller'],
    );
    for (const { name, memoryMb, requestMib } of plan.parts) {
      assert.equal(requestMib % 8, 0, name);
      assert(requestMib * 1.048576 > memoryMb, name);
    }
    for (const { requests } of Object.values(resources)) assert.match(requests.cpu, /^[1-9]\d*0m$/);
  }
});

test('flags for berth manifests', () => {
  const cases: [given: Partial<PlanInput>, flags: string][] = [
    [{ churn: 1 }, '--replicas 2'],
    [{ churn: 30 }, '--sharding --replicas 2'],
    [{ churn: 1, replicas: 3, isSeparate: true }, '--sharding --replicas 3 --separate'],
    [
      { churn: 1, workers: 50 },
      '--replicas 2 --arg sidecars=--provisioner-worker-threads=50 --arg sidecars=--attacher-worker-threads=50',
    ],
    [
      { churn: 1, workers: 50, isSeparate: true },
      '--replicas 2 --separate --arg provisioner=--worker-threads=50 --arg attacher=--worker-threads=50',
    ],
  ];
  for (const [given, flags] of cases) assert.equal(manifestFlagsOf(planScale(input(given))), flags);
});

test('the report fits a terminal of 100 columns, whatever the numbers', () => {
  for (const given of [
    {},
    { churn: 0, volumes: 0, nodes: 1 },
    { volumes: 10_000_000, nodes: 100_000, churn: 900 },
  ]) {
    const lines = planLines(planScale(input(given)));
    assert.deepEqual(
      lines.filter((line) => line.length > 100 || /NaN|Infinity|undefined/.test(line)),
      [],
    );
  }
});
