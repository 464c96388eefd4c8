import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeClaim } from '../../api/kinds.ts';
import { ANN_NODE_EXPANSION_NOT_REQUIRED } from '../../api/well-known.ts';
import { CsiError } from '../../csi/csi-error.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { DesiredMount } from './desired-state.ts';
import { awaitsNodeExpansion, finishExpansion, settledSize, sizeOnEveryNode } from './finish-expansion.ts';

interface Given {
  state?: string;
  allocated?: string;
  conditions?: string[];
  modes?: string[];
  annotations?: Record<string, string>;
}
const claim = ({ state, allocated, conditions = [], modes = ['ReadWriteOnce'], annotations }: Given = {}) =>
  ({
    metadata: { name: 'c', namespace: 'ns', resourceVersion: '1', ...(annotations && { annotations }) },
    spec: { volumeName: 'pv', accessModes: modes, resources: { requests: { storage: '3Gi' } } },
    status: {
      capacity: { storage: '1Gi' },
      ...(allocated && { allocatedResources: { storage: allocated } }),
      ...(state && { allocatedResourceStatuses: { storage: state } }),
      conditions: conditions.map((type) => ({ type, status: 'True' })),
    },
  }) as unknown as PersistentVolumeClaim;

const many = ['ReadWriteOnce', 'ReadWriteMany'];
const table: {
  name: string;
  claim: PersistentVolumeClaim | undefined;
  awaits?: string;
  settled?: string;
  everywhere?: string;
}[] = [
  { name: 'none', claim: undefined },
  { name: 'one at rest', claim: claim(), settled: '1Gi' },
  {
    name: 'one that its controller expands',
    claim: claim({ state: 'ControllerResizeInProgress', allocated: '2Gi' }),
    settled: '1Gi',
  },
  {
    name: 'one that waits for its node',
    claim: claim({ state: 'NodeResizePending', allocated: '2Gi' }),
    awaits: '2Gi',
  },
  {
    name: 'one that its node expands',
    claim: claim({ state: 'NodeResizeInProgress', allocated: '2Gi' }),
    awaits: '2Gi',
  },
  {
    name: 'one that its node cannot expand',
    claim: claim({ state: 'NodeResizeInfeasible', allocated: '2Gi' }),
    settled: '1Gi',
  },
  {
    name: 'one of a resizer that records no states',
    claim: claim({ conditions: ['FileSystemResizePending'] }),
    awaits: '3Gi',
  },
  {
    name: 'one whose controller began again after the condition was set',
    claim: claim({ state: 'ControllerResizeInProgress', conditions: ['FileSystemResizePending'] }),
    settled: '1Gi',
  },
  { name: 'one of many nodes', claim: claim({ modes: many }), settled: '1Gi', everywhere: '1Gi' },
  {
    name: 'one of many nodes that is being expanded',
    claim: claim({ modes: many, state: 'NodeResizePending' }),
    awaits: '3Gi',
  },
  {
    name: 'one of many nodes whose nodes need not expand it',
    claim: claim({ modes: many, annotations: { [ANN_NODE_EXPANSION_NOT_REQUIRED]: 'true' } }),
    settled: '1Gi',
  },
];
for (const { name, claim: given, awaits, settled, everywhere } of table) {
  test(`the size of a claim: ${name}`, () => {
    assert.equal(awaitsNodeExpansion(given), awaits);
    assert.equal(settledSize(given), settled);
    assert.equal(sizeOnEveryNode(given), everywhere);
  });
}

/** A claim and its volume of 2Gi; `conflicts` writes of the claim fail before one goes through. */
function world(given: PersistentVolumeClaim, conflicts = 0) {
  let current = given;
  let left = conflicts;
  const written: object[] = [];
  const kube = {
    get: async ({ plural }: { plural: string }) =>
      plural === 'persistentvolumes' ? { spec: { capacity: { storage: '2Gi' } } } : current,
    async patch(_resource: unknown, _name: unknown, patch: { status: PersistentVolumeClaim['status'] }) {
      if (left-- > 0) throw new KubeError({ code: 409, reason: 'Conflict', message: 'changed meanwhile' });
      written.push(patch.status ?? {});
      current = { ...current, status: { ...current.status, ...patch.status } };
      return current;
    },
  } as unknown as KubeClient;
  const mount = { claimKey: 'ns/c', volume: { attachedAs: { pvName: 'pv' } } } as unknown as DesiredMount;
  const run = (expand: (capacity: string) => Promise<void>, change: object = {}) =>
    finishExpansion(
      { kube, nowMs: 0, signal: new AbortController().signal },
      { ...mount, ...change },
      expand,
    );
  return {
    run,
    written,
    state: () => current.status?.allocatedResourceStatuses?.storage,
    now: () => current,
  };
}
const waits = claim({ state: 'NodeResizePending', allocated: '2Gi' });
const fails =
  (code: 'INVALID_ARGUMENT' | 'UNAVAILABLE' | 'INTERNAL', message = 'no') =>
  async () => {
    throw new CsiError({ code, message });
  };

test('[SIDE-1] a claim says that its node expands it, and then that it has the size of its volume', async () => {
  const { run, written, state, now } = world(waits, 1);
  const during: unknown[] = [];
  const done = await run(async (capacity) => void during.push(capacity, state()));
  assert.deepEqual(during, ['2Gi', 'NodeResizeInProgress']);
  assert.equal(done?.capacity, '2Gi');
  assert.equal(now().status?.capacity?.storage, '2Gi');
  assert.equal(done?.claim, now(), 'as it was told');
  assert.equal(written.length, 2);
});

test('[SIDE-1] a claim that does not wait for its node is not written, though its volume is expanded here', async () => {
  const { run, written } = world(claim());
  let calls = 0;
  await run(async () => void calls++);
  assert.deepEqual([calls, written.length], [1, 0]);
  const legacy = world(claim({ conditions: ['FileSystemResizePending'] }));
  await legacy.run(async () => assert.equal(legacy.written.length, 0));
  assert.equal(legacy.written.length, 1);
});

test('[SIDE-1] what is infeasible for the node is left to the resizer; what failed is retried; what is unknown says nothing', async () => {
  const infeasible = world(waits);
  await assert.rejects(infeasible.run(fails('INVALID_ARGUMENT', 'x'.repeat(1025))));
  assert.equal(infeasible.state(), 'NodeResizeInfeasible');
  const message = infeasible
    .now()
    .status?.conditions?.find(({ type }) => type === 'NodeResizeError')?.message;
  assert.ok(message?.endsWith(' […]'));
  const unknown = world(waits);
  await assert.rejects(unknown.run(fails('UNAVAILABLE')));
  assert.deepEqual(unknown.now().status?.conditions, []);
  assert.equal(unknown.state(), 'NodeResizeInProgress');
  const legacy = world(claim({ conditions: ['FileSystemResizePending'] }));
  await assert.rejects(legacy.run(fails('INVALID_ARGUMENT')));
  assert.equal(legacy.state(), undefined, 'nobody would take over');
  assert.ok(legacy.now().status?.conditions?.some(({ type }) => type === 'NodeResizeError'));
});

test('[SIDE-1] a claim of the same name that has another volume is neither expanded nor told of the size of this one', async () => {
  const other = { ...waits, spec: { ...waits.spec, volumeName: 'other' } };
  const { run, written } = world(other);
  assert.equal(await run(async () => assert.fail('called')), undefined);
  assert.deepEqual(written, []);
});

test('[SIDE-1] a volume without a claim or a PersistentVolume is not expanded', async () => {
  const { run } = world(waits);
  const never = async () => assert.fail('called');
  assert.equal(await run(never, { claimKey: undefined }), undefined);
  assert.equal(await run(never, { volume: {} }), undefined);
  assert.equal(await run(never, { volume: { attachedAs: { namespace: 'ns' } } }), undefined);
});
