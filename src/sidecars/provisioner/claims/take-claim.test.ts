// Which node takes a claim that binds immediately, with one provisioner per node.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { persistentVolumeClaims } from '../../../api/kinds.ts';
import { ANN_SELECTED_NODE } from '../../../api/well-known.ts';
import type { ClaimRun } from './claim-work.ts';
import { takeClaim } from './take-claim.ts';
import { claimBench } from './testing/claim-bench.ts';

type FreeCapacity = ClaimRun['work']['calls']['freeCapacity'];
const free = (bytes: bigint) => (async () => ({ availableCapacity: bytes })) as unknown as FreeCapacity;

async function onNode(t: TestContext, freeCapacity: FreeCapacity = free(1n << 40n)) {
  const bench = await claimBench(t);
  const { metadata } = await bench.makeClaim();
  const run = await bench.run(metadata.uid);
  const work = { ...run.work, calls: { ...run.work.calls, freeCapacity } };
  const here = { ...run, work, node: { name: 'n1' } } as ClaimRun;
  return {
    ...bench,
    here,
    take: (attempt: number, change: Partial<ClaimRun> = {}) =>
      takeClaim({ ...here, ...change }, { storageClass: here.storageClass as never }, attempt),
    owner: async () => (await bench.read('data'))?.metadata.annotations?.[ANN_SELECTED_NODE],
  };
}

test('the first run waits, because another node may take the claim', async (t) => {
  const { take, owner } = await onNode(t);
  const outcome = await take(0);
  assert.equal(outcome.kind, 'failed');
  assert.equal('quiet' in outcome && outcome.quiet, true, 'it is not reported');
  assert.equal(await owner(), undefined);
});

test('the second run takes it', async (t) => {
  const { take, owner } = await onNode(t);
  assert.equal((await take(1)).kind, 'requeueAfter');
  assert.equal(await owner(), 'n1');
});

const rooms: [string, FreeCapacity, string | undefined][] = [
  ['as much room as requested', free(1n << 30n), 'n1'],
  ['a byte too little', free((1n << 30n) - 1n), undefined],
  ['a driver that cannot say', () => Promise.reject(new Error('no GetCapacity')), 'n1'],
];
for (const [name, freeCapacity, expected] of rooms) {
  test(`a node with ${name}`, async (t) => {
    const { take, owner } = await onNode(t, freeCapacity);
    await take(1);
    assert.equal(await owner(), expected);
  });
}

test('a claim that another process wrote first is left to it for now', async (t) => {
  const { kube, take, owner } = await onNode(t);
  const other = { metadata: { annotations: { [ANN_SELECTED_NODE]: 'n2' } } };
  await kube.patch(persistentVolumeClaims, { name: 'data', namespace: 'default' }, other, { type: 'merge' });
  const outcome = await take(1);
  assert.equal(outcome.kind, 'failed');
  assert.equal('why' in outcome && outcome.why, 'the claim changed');
  assert.equal(await owner(), 'n2');
});

test('a claim that is gone, and a process without a node, have nothing to take', async (t) => {
  const { kube, take } = await onNode(t);
  assert.equal((await take(1, { node: undefined })).kind, 'done');
  assert.equal((await take(1, { claim: undefined })).kind, 'done');
  const name = { name: 'data', namespace: 'default' };
  await kube.patch(persistentVolumeClaims, name, { metadata: { finalizers: null } }, { type: 'merge' });
  await kube.delete(persistentVolumeClaims, name);
  assert.equal((await take(1)).kind, 'done');
});

test('an error of the API server is not hidden', async (t) => {
  const { here, take } = await onNode(t);
  const kube = { ...here.work.kube, update: () => Promise.reject(new Error('the server is away')) };
  const work = { ...here.work, kube: kube as never };
  await assert.rejects(take(1, { work }), /the server is away/);
});
