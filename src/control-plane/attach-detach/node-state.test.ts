import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../api/kinds.ts';
import { TAINT_OUT_OF_SERVICE } from '../../api/well-known.ts';
import { healthOf, isOutOfService, reportsInUse } from './node-state.ts';
import { slotVolume } from './slot.ts';
import { SlotWaits } from './slot-waits.ts';

const node = (parts: object): Node => ({ metadata: { name: 'n' }, ...parts }) as unknown as Node;
const ready = (status: string) => [
  { type: 'MemoryPressure', status: 'False' },
  { type: 'Ready', status },
];
const idOf = (driver: string, volumeHandle: string) => slotVolume({ driver, volumeHandle } as never);

test('the health of a node is that of its Ready condition', () => {
  assert.equal(healthOf(undefined), 'gone');
  assert.equal(healthOf(node({})), 'unready');
  assert.equal(healthOf(node({ status: { conditions: ready('Unknown') } })), 'unready');
  assert.equal(healthOf(node({ status: { conditions: ready('True') } })), 'ready');
});

test('a node is out of service by its taint', () => {
  assert.equal(isOutOfService(undefined), false);
  assert.equal(isOutOfService(node({})), false);
  assert.equal(isOutOfService(node({ spec: { taints: [{ key: 'a' }] } })), false);
  assert.equal(
    isOutOfService(node({ spec: { taints: [{ key: 'a' }, { key: TAINT_OUT_OF_SERVICE }] } })),
    true,
  );
});

const conditions = ready('True');
const inUse: [string, Node | undefined, string, boolean][] = [
  ['a node that is gone', undefined, idOf('d', 'h'), true],
  ['a node without a status', node({}), idOf('d', 'h'), true],
  ['a node without conditions', node({ status: { conditions: [] } }), idOf('d', 'h'), true],
  ['a node that uses nothing', node({ status: { conditions } }), idOf('d', 'h'), false],
  [
    'a node that uses it',
    node({ status: { conditions, volumesInUse: [idOf('d', 'h')] } }),
    idOf('d', 'h'),
    true,
  ],
  [
    'a node that uses another',
    node({ status: { conditions, volumesInUse: [idOf('d', 'i')] } }),
    idOf('d', 'h'),
    false,
  ],
  [
    'a handle that is not known, of the driver in use',
    node({ status: { conditions, volumesInUse: [idOf('d', 'i')] } }),
    'pv:x',
    true,
  ],
  [
    'a handle that is not known, of another driver',
    node({ status: { conditions, volumesInUse: [idOf('e', 'i')] } }),
    'pv:x',
    false,
  ],
];
for (const [name, given, volumeId, expected] of inUse)
  test(`${name}: the volume ${expected ? 'may be' : 'is not'} in use`, () => {
    assert.equal(reportsInUse(given, volumeId as never, 'd' as never), expected);
  });

test('slots that wait are woken once, by what they wait for', () => {
  const woken: string[] = [];
  const waits = new SlotWaits((slot) => void woken.push(slot));
  for (const [awaited, slot] of [
    ['a', '1'],
    ['a', '2'],
    ['a', '1'],
    ['b', '3'],
  ] as const)
    waits.add(awaited, slot);
  waits.wake('x');
  assert.deepEqual(woken, []);
  waits.wake('a');
  waits.wake('a');
  assert.deepEqual(woken, ['1', '2']);
  waits.wake('b');
  assert.deepEqual(woken, ['1', '2', '3']);
});
