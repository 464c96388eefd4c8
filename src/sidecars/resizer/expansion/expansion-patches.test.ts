import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../api/kinds.ts';
import { ANN_NODE_EXPANSION_NOT_REQUIRED, ANN_PRE_RESIZE_CAPACITY } from '../../../api/well-known.ts';
import {
  awaitNodePatch,
  beginPatch,
  failurePatch,
  finishPatch,
  forgetOldCapacityPatch,
  grownVolumePatch,
} from './expansion-patches.ts';

const NOW = '2026-01-01T00:00:00Z';
const recovers = { now: NOW, recovers: true };
const plain = { now: NOW, recovers: false };
const condition = (type: string) => ({ type, status: 'True', lastTransitionTime: NOW });
const resizing = { ...condition('Resizing'), lastProbeTime: NOW };
const pending = condition('FileSystemResizePending');
const failed = { ...condition('ControllerResizeError'), message: 'no' };

interface Given {
  annotations?: Record<string, string>;
  allocated?: string;
  state?: string;
  conditions?: object[];
}
const claim = ({ annotations, allocated, state, conditions }: Given = {}) =>
  ({
    metadata: { name: 'c', uid: 'u', resourceVersion: '7', ...(annotations && { annotations }) },
    spec: { resources: { requests: { storage: '2Gi' } } },
    status: {
      capacity: { storage: '1Gi' },
      ...(allocated && { allocatedResources: { storage: allocated } }),
      ...(state && { allocatedResourceStatuses: { storage: state } }),
      ...(conditions && { conditions }),
    },
  }) as unknown as PersistentVolumeClaim;
const noNode = { [ANN_NODE_EXPANSION_NOT_REQUIRED]: 'true' };
const noLongerNoNode = { [ANN_NODE_EXPANSION_NOT_REQUIRED]: null };
const types = (patch: { status: object } | undefined) =>
  ((patch?.status ?? {}) as { conditions?: { type: string }[] }).conditions?.map(({ type }) => type).sort() ??
  [];

test('an expansion that begins is announced once, with its size', () => {
  const patch = beginPatch(claim(), '2Gi', recovers);
  assert.deepEqual(patch, {
    metadata: { uid: 'u', resourceVersion: '7' },
    status: {
      conditions: [resizing],
      allocatedResources: { storage: '2Gi' },
      allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
    },
  });
});

test('every call is a new version of the claim, whose transition time stays', () => {
  const begun = { allocated: '2048Mi', state: 'ControllerResizeInProgress', conditions: [resizing] };
  const later = '2026-01-01T00:00:07Z';
  for (const context of [recovers, plain]) {
    const { status } = beginPatch(claim(begun), '2Gi', { ...context, now: later });
    const { conditions } = status as { conditions: object[] };
    assert.deepEqual(conditions, [{ ...resizing, lastProbeTime: later }]);
  }
});

test('an expansion that begins takes back that the last one needed no node', () => {
  const begun = { allocated: '2Gi', state: 'ControllerResizeInProgress', conditions: [resizing] };
  const patch = beginPatch(claim({ ...begun, annotations: noNode }), '2Gi', recovers);
  assert.deepEqual(patch.metadata.annotations, noLongerNoNode);
  const without = beginPatch(claim({ ...begun, annotations: noNode }), '2Gi', plain);
  assert.equal(without.metadata.annotations, undefined);
});

test('an error stays while the same size is tried again, and goes with another size', () => {
  const tried = { allocated: '2Gi', state: 'ControllerResizeInfeasible', conditions: [failed] };
  assert.deepEqual(types(beginPatch(claim(tried), '2Gi', recovers)), ['ControllerResizeError', 'Resizing']);
  assert.deepEqual(types(beginPatch(claim(tried), '3Gi', recovers)), ['Resizing']);
});

test('without recovery only the condition says that an expansion begins', () => {
  assert.deepEqual(beginPatch(claim({ conditions: [pending] }), '2Gi', plain).status, {
    conditions: [resizing],
  });
});

test('a volume that grew waits for its node, and keeps the error on the way where that is recorded', () => {
  const given = claim({ conditions: [resizing, failed], annotations: noNode });
  const patch = awaitNodePatch(given, recovers);
  assert.ok(types(patch).includes('ControllerResizeError'));
  assert.deepEqual((patch.status as { allocatedResourceStatuses?: object }).allocatedResourceStatuses, {
    storage: 'NodeResizePending',
  });
  assert.deepEqual(patch.metadata.annotations, noLongerNoNode);
  const without = awaitNodePatch(given, plain);
  assert.deepEqual(types(without), ['FileSystemResizePending']);
  assert.equal('allocatedResourceStatuses' in without.status, false);
  assert.equal(without.metadata.annotations, undefined);
});

test('an expansion that is over says whether a node was needed', () => {
  assert.deepEqual(finishPatch(claim(), '2Gi', recovers).metadata.annotations, noNode);
  assert.equal(finishPatch(claim(), '2Gi', plain).metadata.annotations, undefined);
});

test('a rejection is shown, shortened, and as infeasible where it is', () => {
  const patch = failurePatch(claim(), new Error('no'), { ...recovers, infeasible: false });
  assert.deepEqual(patch.status, { conditions: [failed] });
  const infeasible = failurePatch(claim(), new Error('x'.repeat(1025)), { ...recovers, infeasible: true });
  const { conditions, allocatedResourceStatuses } = infeasible.status as {
    conditions: { message: string }[];
    allocatedResourceStatuses: object;
  };
  assert.deepEqual(allocatedResourceStatuses, { storage: 'ControllerResizeInfeasible' });
  assert.equal(conditions[0]?.message, `${'x'.repeat(1024)} […]`);
  const longest = failurePatch(claim(), new Error('x'.repeat(1024)), { ...recovers, infeasible: true });
  assert.doesNotMatch(JSON.stringify(longest), /…/);
});

const volume = (storage: string | undefined, before?: string, uid = 'u') =>
  ({
    metadata: {
      name: 'pv',
      uid: 'v',
      resourceVersion: '7',
      ...(before && { annotations: { [ANN_PRE_RESIZE_CAPACITY]: before } }),
    },
    spec: { ...(storage && { capacity: { storage } }), claimRef: { uid } },
  }) as unknown as PersistentVolume;

test('a volume gets its new size once, and the earlier one while its node has not followed', () => {
  const grown = (given: PersistentVolume, before?: string) =>
    grownVolumePatch(given, { capacity: '2Gi', before });
  assert.equal(grown(volume('2048Mi')), undefined);
  const metadata = { uid: 'v', resourceVersion: '7' };
  assert.deepEqual(grown(volume('1Gi')), { metadata, spec: { capacity: { storage: '2Gi' } } });
  assert.deepEqual(grown(volume(undefined)), { metadata, spec: { capacity: { storage: '2Gi' } } });
  const noted = { ...metadata, annotations: { [ANN_PRE_RESIZE_CAPACITY]: '1Gi' } };
  assert.deepEqual(grown(volume('2Gi'), '1Gi'), { metadata: noted, spec: { capacity: { storage: '2Gi' } } });
  assert.equal(grown(volume('2Gi', '500Mi'), '1Gi'), undefined, 'the first earlier size is kept');
});

test('the earlier size is forgotten once the claim has the new one', () => {
  const has = (storage: string | undefined) =>
    ({
      metadata: { uid: 'u' },
      status: { ...(storage && { capacity: { storage } }) },
    }) as unknown as PersistentVolumeClaim;
  const forget = {
    metadata: { uid: 'v', resourceVersion: '7', annotations: { [ANN_PRE_RESIZE_CAPACITY]: null } },
  };
  assert.deepEqual(forgetOldCapacityPatch(has('2Gi'), volume('2Gi', '1Gi')), forget);
  assert.deepEqual(forgetOldCapacityPatch(has('3Gi'), volume('2Gi', '1Gi')), forget);
  assert.equal(forgetOldCapacityPatch(has('1Gi'), volume('2Gi', '1Gi')), undefined);
  assert.equal(forgetOldCapacityPatch(has(undefined), volume('2Gi', '1Gi')), undefined);
  assert.equal(forgetOldCapacityPatch(has('2Gi'), volume('2Gi')), undefined);
  assert.equal(forgetOldCapacityPatch(has('2Gi'), volume('2Gi', '1Gi', 'other')), undefined);
});
