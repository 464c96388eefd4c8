import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Retries } from '../../runtime/queue/retries.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { Placement } from './placement.ts';
import type { PodVolumes } from './pod-volumes.ts';

const delayed = (key: string, selectedNode?: string) =>
  ({ delayed: [{ key, selectedNode }] }) as unknown as PodVolumes;

function placed() {
  const clock = new VirtualClock();
  const retries = new Retries({ clock, random: seededRandom('placement') } as never);
  const placement = new Placement('u');
  placement.nodeName = 'n1';
  placement.asked('ns/data');
  return { clock, retries, placement };
}

test('[PROV-6] a node that the provisioner gave up is avoided for a while, others are not', async () => {
  const { clock, retries, placement } = placed();
  assert.equal(placement.waitMs('n1', retries), 0, 'nothing failed yet');
  assert.equal(placement.retreat(delayed('ns/data'), retries), 'ns/data');
  assert.equal(placement.nodeName, undefined);
  assert.deepEqual([...placement.refused], ['n1']);
  assert.ok(placement.waitMs('n1', retries) > 0);
  assert.equal(placement.waitMs('n2', retries), 0);
  await clock.advance(300_000);
  assert.equal(placement.waitMs('n1', retries), 0);
  assert.deepEqual([...placement.refused], [], 'it counts like any other');
});

const kept: [string, (placement: Placement) => PodVolumes][] = [
  ['its claim still has its node', () => delayed('ns/data', 'n1')],
  ['another claim has no node', () => delayed('ns/other')],
  [
    'no node was chosen',
    (placement) => {
      placement.nodeName = undefined;
      return delayed('ns/data');
    },
  ],
];
for (const [name, given] of kept) {
  test(`[PROV-6] a pod does not retreat when ${name}`, () => {
    const { retries, placement } = placed();
    assert.equal(placement.retreat(given(placement), retries), undefined);
    assert.deepEqual([...placement.refused], []);
  });
}

test('a problem is reported after a second, counted from when it was first seen', async () => {
  const { clock, placement } = placed();
  assert.equal(placement.patienceMs(clock), 1000);
  await clock.advance(400);
  assert.equal(placement.patienceMs(clock), 600);
  await clock.advance(1000);
  assert.equal(placement.patienceMs(clock), 0);
});
