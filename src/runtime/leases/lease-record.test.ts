import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Lease } from '../../api/kinds.ts';
import { heldRecord, leaseNameFor, microTime, observe, waitToTakeMs } from './lease-record.ts';

function lease(spec: Lease['spec'], resourceVersion = '1'): Lease {
  const metadata = { name: 'l', namespace: 'ns', uid: 'u', resourceVersion, creationTimestamp: '' };
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, ...(spec && { spec }) };
}

describe('leaseNameFor', () => {
  for (const [given, expected] of [
    ['external-attacher-leader-hostpath.csi.k8s.io', 'external-attacher-leader-hostpath-csi-k8s-io'],
    ['example.com/driver', 'example-com-driver'],
    ['pod_0', 'pod-0'],
    ['ends-with.', 'ends-with-X'],
  ] as const) {
    it(`${given} → ${expected}`, () => assert.equal(leaseNameFor(given), expected));
  }
});

describe('microTime', () => {
  for (const [given, expected] of [
    [Date.UTC(2026, 0, 1), '2026-01-01T00:00:00.000000Z'],
    [Date.UTC(2026, 0, 1) + 1.25, '2026-01-01T00:00:00.001250Z'],
  ] as const) {
    it(expected, () => assert.equal(microTime(given), expected));
  }
});

describe('waitToTakeMs', () => {
  const held = { holderIdentity: 'a', leaseDurationSeconds: 15 };
  for (const { name, spec, nowMs, expected } of [
    { name: 'just seen', spec: held, nowMs: 100, expected: 15_000 },
    { name: 'seen a while ago', spec: held, nowMs: 10_100, expected: 5_000 },
    { name: 'run out', spec: held, nowMs: 20_000, expected: 0 },
    { name: 'released', spec: { ...held, holderIdentity: '' }, nowMs: 100, expected: 0 },
    { name: 'our own', spec: { ...held, holderIdentity: 'me' }, nowMs: 100, expected: 0 },
    { name: 'no record', spec: undefined, nowMs: 100, expected: 0 },
    { name: 'no duration', spec: { holderIdentity: 'a' }, nowMs: 100, expected: 0 },
  ]) {
    it(name, () => {
      assert.equal(waitToTakeMs({ lease: lease(spec), seenAtMs: 100 }, 'me', nowMs), expected);
    });
  }

  it('counts from when the record last changed, by our own clock', () => {
    const first = observe(undefined, lease(held, '1'), 0);
    const again = observe(first, lease(held, '1'), 5_000);
    assert.equal(waitToTakeMs(again, 'me', 5_000), 10_000);
    const renewed = observe(again, lease(held, '2'), 6_000);
    assert.equal(waitToTakeMs(renewed, 'me', 6_000), 15_000);
  });
});

describe('heldRecord', () => {
  const init = { identity: 'me', leaseDurationMs: 1_500, wallMs: Date.UTC(2026, 0, 1) };
  const now = '2026-01-01T00:00:00.000000Z';
  for (const { name, previous, acquireTime, leaseTransitions } of [
    { name: 'first ever', previous: undefined, acquireTime: now, leaseTransitions: 0 },
    {
      name: 'renewed',
      previous: { holderIdentity: 'me', acquireTime: 'then', leaseTransitions: 3 },
      acquireTime: 'then',
      leaseTransitions: 3,
    },
    {
      name: 'taken over',
      previous: { holderIdentity: 'a', acquireTime: 'then', leaseTransitions: 3 },
      acquireTime: now,
      leaseTransitions: 4,
    },
    { name: 'after a release', previous: { holderIdentity: '' }, acquireTime: now, leaseTransitions: 1 },
  ]) {
    it(name, () => {
      assert.deepEqual(heldRecord(previous, init), {
        holderIdentity: 'me',
        leaseDurationSeconds: 2,
        acquireTime,
        renewTime: now,
        leaseTransitions,
      });
    });
  }
});
