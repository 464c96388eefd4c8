// The decision table of expansion: state of the claim, sizes of claim and volume, outcome of the last call.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ExpansionState } from '../../../api/claim-expansion.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../api/kinds.ts';
import { parseDriverName } from '../../../csi/names/driver-name.ts';
import { decideExpansion, type ExpansionSnapshot } from './decide-expansion.ts';

interface Given {
  phase?: string;
  requested: string;
  capacity?: string;
  allocated?: string;
  state?: ExpansionState;
  conditions?: string[];
}

const claim = (given: Given) =>
  ({
    metadata: { name: 'data', namespace: 'default', uid: 'claim-uid', resourceVersion: '1' },
    spec: { volumeName: 'pv', resources: { requests: { storage: given.requested } } },
    status: {
      phase: given.phase ?? 'Bound',
      capacity: { storage: given.capacity ?? '1Gi' },
      ...(given.allocated && { allocatedResources: { storage: given.allocated } }),
      ...(given.state && { allocatedResourceStatuses: { storage: given.state } }),
      conditions: (given.conditions ?? []).map((type) => ({ type, status: 'True' })),
    },
  }) as unknown as PersistentVolumeClaim;

const volume = (size: string, more: { driver?: string; uid?: string } = {}) =>
  ({
    metadata: { name: 'pv' },
    spec: {
      capacity: { storage: size },
      csi: { driver: more.driver ?? 'ours', volumeHandle: 'v' },
      claimRef: { namespace: 'default', name: 'data', uid: more.uid ?? 'claim-uid' },
    },
  }) as unknown as PersistentVolume;

function decide(given: Given, size: string, more: Partial<ExpansionSnapshot> = {}): string {
  const decision = decideExpansion({
    claim: claim(given),
    volume: volume(size),
    driver: parseDriverName('ours'),
    place: 'controller',
    failedForSure: false,
    recovers: true,
    ...more,
  });
  return decision.do === 'expand' ? decision.size : decision.why;
}

const NODE = 'the node has to act next';

describe('left alone', () => {
  const rows: [string, () => string, RegExp][] = [
    ['as large as asked for', () => decide({ requested: '1Gi' }, '1Gi'), /requested size/],
    ['larger than asked for', () => decide({ requested: '1Gi', capacity: '2Gi' }, '2Gi'), /requested size/],
    ['the same in other words', () => decide({ requested: '1024Mi' }, '1Gi'), /requested size/],
    ['not bound', () => decide({ requested: '2Gi', phase: 'Lost' }, '1Gi'), /requested size/],
    ['volume unknown', () => decide({ requested: '2Gi' }, '1Gi', { volume: undefined }), /does not exist/],
    [
      "another driver's",
      () => decide({ requested: '2Gi' }, '1Gi', { volume: volume('1Gi', { driver: 'theirs' }) }),
      /another driver/,
    ],
    [
      'volume of another incarnation of the claim',
      () => decide({ requested: '2Gi' }, '1Gi', { volume: volume('1Gi', { uid: 'other' }) }),
      /not bound to it/,
    ],
  ];
  for (const [name, act, why] of rows) test(name, () => assert.match(act(), why));
});

describe('the size to grow to', () => {
  const rows: [string, Given, string, string, Partial<ExpansionSnapshot>?][] = [
    ['at first: what is asked for', { requested: '2Gi' }, '1Gi', '2Gi'],
    [
      'a call may be under way: its size, not the new one',
      { requested: '3Gi', allocated: '2Gi', state: 'ControllerResizeInProgress' },
      '1Gi',
      '2Gi',
    ],
    [
      'the request was lowered while a call may be under way: still its size',
      { requested: '2Gi', allocated: '9Gi', state: 'ControllerResizeInProgress' },
      '1Gi',
      '9Gi',
    ],
    [
      'the call failed for sure: the new one',
      { requested: '2Gi', allocated: '9Gi', state: 'ControllerResizeInProgress' },
      '1Gi',
      '2Gi',
      { failedForSure: true },
    ],
    [
      'infeasible, then lowered: the new one',
      { requested: '2Gi', allocated: '9Gi', state: 'ControllerResizeInfeasible' },
      '1Gi',
      '2Gi',
    ],
    [
      'infeasible and not changed: once more, later',
      { requested: '9Gi', allocated: '9Gi', state: 'ControllerResizeInfeasible' },
      '1Gi',
      '9Gi',
    ],
    [
      'the node is at it: it comes first',
      { requested: '3Gi', allocated: '2Gi', state: 'NodeResizeInProgress' },
      '2Gi',
      NODE,
    ],
    [
      'the node waits for a size that the volume does not say yet: said again',
      { requested: '3Gi', allocated: '2Gi', state: 'NodeResizePending' },
      '1Gi',
      '2Gi',
    ],
    [
      'infeasible on the node, and now more is asked for: first what was begun',
      { requested: '3Gi', allocated: '2Gi', state: 'NodeResizeInfeasible' },
      '2Gi',
      '2Gi',
    ],
    [
      'grown and waiting for the node',
      { requested: '2Gi', allocated: '2Gi', state: 'NodeResizePending' },
      '2Gi',
      NODE,
    ],
    [
      'grown, lowered meanwhile, waiting for the node',
      { requested: '2Gi', allocated: '9Gi', state: 'NodeResizePending' },
      '9Gi',
      NODE,
    ],
    [
      'infeasible on the node: confirmed by the driver, then the node again',
      { requested: '2Gi', allocated: '2Gi', state: 'NodeResizeInfeasible' },
      '2Gi',
      '2Gi',
    ],
    [
      'infeasible on the node and lowered, where the controller has grown it: what it has',
      { requested: '2Gi', allocated: '9Gi', state: 'NodeResizeInfeasible' },
      '9Gi',
      '9Gi',
    ],
    [
      'infeasible on the node and lowered, where only the node grows it: the new one',
      { requested: '2Gi', allocated: '9Gi', state: 'NodeResizeInfeasible' },
      '9Gi',
      '2Gi',
      { place: 'node' },
    ],
    [
      'grown, and the resizer died before it said so',
      { requested: '2Gi', allocated: '2Gi', state: 'ControllerResizeInProgress' },
      '2Gi',
      '2Gi',
    ],
    ['grown by somebody who keeps no states', { requested: '2Gi' }, '2Gi', '2Gi'],
    [
      'grown by somebody who keeps no states, and waiting for the node',
      { requested: '2Gi', conditions: ['FileSystemResizePending'] },
      '2Gi',
      NODE,
    ],
    [
      'without recovery: what is asked for, whatever the states say',
      { requested: '3Gi', allocated: '2Gi', state: 'ControllerResizeInProgress' },
      '1Gi',
      '3Gi',
      { recovers: false },
    ],
    [
      'without recovery: the node comes first once the volume is large enough',
      { requested: '2Gi', conditions: ['FileSystemResizePending'] },
      '2Gi',
      NODE,
      { recovers: false },
    ],
    [
      'without recovery: more is asked for while the node is waited for',
      { requested: '3Gi', conditions: ['FileSystemResizePending'] },
      '2Gi',
      '3Gi',
      { recovers: false },
    ],
  ];
  for (const [name, given, size, expected, more] of rows) {
    test(name, () => assert.equal(decide(given, size, more), expected));
  }
});
