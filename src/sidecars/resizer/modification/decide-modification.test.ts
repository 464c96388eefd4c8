import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../api/kinds.ts';
import { CsiError } from '../../../csi/csi-error.ts';
import { parseDriverName } from '../../../csi/names/driver-name.ts';
import { decideModification } from './decide-modification.ts';
import {
  beginPatch,
  cancelPatch,
  failurePatch,
  finishPatch,
  modifiedVolumePatch,
  pendingPatch,
} from './modification-patches.ts';

const DRIVER = parseDriverName('d.example');
const NOW = '2026-01-01T00:00:00Z';
const EARLIER = '2025-01-01T00:00:00Z';

interface Given {
  wanted?: string;
  current?: string;
  phase?: string;
  underWay?: { status: string; targetVolumeAttributesClassName?: string };
  conditions?: object[];
}
const claim = ({ wanted, current, phase = 'Bound', underWay, conditions }: Given = {}) =>
  ({
    metadata: { uid: 'u', resourceVersion: '7' },
    spec: { ...(wanted !== undefined && { volumeAttributesClassName: wanted }) },
    status: {
      phase,
      ...(current && { currentVolumeAttributesClassName: current }),
      ...(underWay && { modifyVolumeStatus: underWay }),
      ...(conditions && { conditions }),
    },
  }) as unknown as PersistentVolumeClaim;
const volume = (change: object = {}) =>
  ({
    metadata: { uid: 'v', resourceVersion: '7' },
    spec: { csi: { driver: DRIVER }, claimRef: { uid: 'u' }, ...change },
  }) as unknown as PersistentVolume;
const toGold = { status: 'InProgress', targetVolumeAttributesClassName: 'gold' };
const modifying = { type: 'ModifyingVolume', status: 'True', lastTransitionTime: EARLIER };

const table: {
  name: string;
  claim: PersistentVolumeClaim;
  volume?: PersistentVolume | null;
  failed?: boolean;
  then: string;
}[] = [
  { name: 'has what it asks for', claim: claim({ wanted: 'gold', current: 'gold' }), then: 'nothing' },
  { name: 'asks for nothing', claim: claim(), then: 'nothing' },
  { name: 'asks for a class', claim: claim({ wanted: 'gold' }), then: 'modify gold' },
  { name: 'asks for another class', claim: claim({ wanted: 'gold', current: 'iron' }), then: 'modify gold' },
  { name: 'is not bound', claim: claim({ wanted: 'gold', phase: 'Pending' }), then: 'nothing' },
  { name: 'has no volume', claim: claim({ wanted: 'gold' }), volume: null, then: 'nothing' },
  {
    name: 'has a volume of another driver',
    claim: claim({ wanted: 'gold' }),
    volume: volume({ csi: { driver: 'e' } }),
    then: 'nothing',
  },
  {
    name: 'has a volume of another claim',
    claim: claim({ wanted: 'gold' }),
    volume: volume({ claimRef: { uid: 'w' } }),
    then: 'nothing',
  },
  {
    name: 'asks for another class while one is on its way',
    claim: claim({ wanted: 'iron', underWay: toGold }),
    then: 'modify gold, continued',
  },
  {
    name: 'asks for another class after one failed',
    claim: claim({ wanted: 'iron', underWay: toGold }),
    failed: true,
    then: 'modify iron',
  },
  {
    name: 'takes its wish back while one is on its way, which failed',
    claim: claim({ underWay: toGold }),
    failed: true,
    then: 'modify gold, continued',
  },
  {
    name: 'waits for a class',
    claim: claim({
      wanted: 'gold',
      underWay: { status: 'Pending', targetVolumeAttributesClassName: 'gold' },
    }),
    then: 'modify gold',
  },
  {
    name: 'is on its way to nothing',
    claim: claim({ wanted: 'gold', underWay: { status: 'InProgress' } }),
    then: 'modify gold',
  },
  { name: 'took its wish back', claim: claim({ current: 'gold', conditions: [modifying] }), then: 'cancel' },
  {
    name: 'took its wish back, and says nothing of it',
    claim: claim({ current: 'gold', conditions: [] }),
    then: 'nothing',
  },
];
for (const { name, claim: given, volume: of = volume(), failed = false, then } of table) {
  test(`a claim that ${name}: ${then}`, () => {
    const decision = decideModification({
      claim: given,
      volume: of ?? undefined,
      driver: DRIVER,
      failedForSure: failed,
    });
    const detail =
      decision.do === 'modify' ? ` ${decision.target}${decision.isContinued ? ', continued' : ''}` : '';
    assert.equal(`${decision.do}${detail}`, then);
  });
}

const metadata = { uid: 'u', resourceVersion: '7' };
const other = { type: 'Resizing', status: 'True' };

test('a claim whose class cannot be used yet says so once', () => {
  const pending = { status: 'Pending', targetVolumeAttributesClassName: 'gold' };
  assert.deepEqual(pendingPatch(claim(), 'gold'), { metadata, status: { modifyVolumeStatus: pending } });
  assert.equal(pendingPatch(claim({ underWay: pending }), 'gold'), undefined);
  assert.notEqual(pendingPatch(claim({ underWay: pending }), 'iron'), undefined);
  assert.notEqual(pendingPatch(claim({ underWay: toGold }), 'gold'), undefined);
});

interface Conditions {
  status: {
    conditions: { type: string; reason?: string; message: string; lastTransitionTime?: string }[];
    modifyVolumeStatus: { status: string };
  };
}

test('a modification that goes on keeps the time at which it began, and the conditions of others', () => {
  const { status } = beginPatch(claim({ conditions: [other, modifying] }), 'gold', NOW) as Conditions;
  assert.deepEqual(
    status.conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]),
    [
      ['Resizing', undefined],
      ['ModifyingVolume', EARLIER],
    ],
  );
  assert.equal(status.modifyVolumeStatus.status, 'InProgress');
  const first = beginPatch(
    claim({ conditions: [{ ...modifying, status: 'False' }] }),
    'gold',
    NOW,
  ) as Conditions;
  assert.equal(first.status.conditions[0]?.lastTransitionTime, NOW);
});

test('a failure says what happened, with its code, and whether it can ever succeed', () => {
  const failure = (error: Error, infeasible: boolean, isFinal: boolean, conditions: object[] = []) =>
    (failurePatch(claim({ conditions }), 'gold', { error, infeasible, isFinal, now: NOW }) as Conditions)
      .status;
  const rejected = failure(new CsiError({ code: 'INVALID_ARGUMENT', message: 'no' }), true, true);
  assert.equal(rejected.modifyVolumeStatus.status, 'Infeasible');
  assert.match(rejected.conditions[0]?.message ?? '', /rejected by the driver/);
  assert.deepEqual(
    [rejected.conditions[1]?.reason, rejected.conditions[1]?.message],
    ['InvalidArgument', 'no'],
  );
  const lost = failure(new CsiError({ code: 'CANCELLED', message: 'x'.repeat(1025) }), false, false);
  assert.equal(lost.modifyVolumeStatus.status, 'InProgress');
  assert.match(lost.conditions[0]?.message ?? '', /unknown/);
  assert.deepEqual(
    [lost.conditions[1]?.reason, lost.conditions[1]?.message],
    ['Canceled', `${'x'.repeat(1024)} […]`],
  );
  const before = [
    { type: 'ModifyVolumeError', status: 'True', reason: 'Unknown', lastTransitionTime: EARLIER },
  ];
  const again = failure(new Error('x'.repeat(1024)), false, true, before);
  assert.deepEqual(
    [again.conditions[1]?.lastTransitionTime, again.conditions[1]?.message],
    [EARLIER, 'x'.repeat(1024)],
  );
});

test('a modification that is over leaves nothing of itself', () => {
  const failed = { type: 'ModifyVolumeError', status: 'True' };
  const over = { modifyVolumeStatus: null, currentVolumeAttributesClassName: 'gold' };
  const done = finishPatch(claim({ conditions: [modifying, failed] }), 'gold');
  assert.deepEqual(done, { metadata, status: { ...over, conditions: null } });
  const beside = finishPatch(claim({ conditions: [other, failed] }), 'gold');
  assert.deepEqual(beside, { metadata, status: { ...over, conditions: [other] } });
  assert.deepEqual(cancelPatch(claim({ conditions: [modifying, failed] })), {
    metadata,
    status: { conditions: [failed] },
  });
});

test('a volume gets the name of its class once', () => {
  const spec = { volumeAttributesClassName: 'gold' };
  assert.equal(modifiedVolumePatch(volume(spec), 'gold'), undefined);
  const metadata = { uid: 'v', resourceVersion: '7' };
  assert.deepEqual(modifiedVolumePatch(volume(), 'gold'), { metadata, spec });
});
