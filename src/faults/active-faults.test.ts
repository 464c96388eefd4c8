// Which calls are struck: by call, driver, volume, node, count and rate.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../runtime/random.ts';
import { ActiveFaults } from './active-faults.ts';
import type { FaultableCall } from './fault.ts';
import { FaultError } from './parse-fault.ts';

const call = (given: Partial<FaultableCall> = {}): FaultableCall => ({
  method: 'CreateVolume',
  driver: 'a.b',
  by: ['provisioner'],
  nodes: [],
  volumes: ['pvc-1'],
  ...given,
});

const faultsWith = (...texts: string[]): ActiveFaults => {
  const faults = new ActiveFaults({ random: seededRandom(1), check: () => {} });
  for (const text of texts) faults.add(text);
  return faults;
};

describe('[FLT-1] a fault strikes', () => {
  const cases: readonly {
    name: string;
    fault: string;
    hits: Partial<FaultableCall>;
    misses: Partial<FaultableCall>;
  }[] = [
    { name: 'by call', fault: 'CreateVolume duplicate', hits: {}, misses: { method: 'DeleteVolume' } },
    { name: 'by several calls', fault: 'C* duplicate', hits: {}, misses: { method: 'DeleteVolume' } },
    { name: 'by driver', fault: 'CreateVolume duplicate driver=a.b', hits: {}, misses: { driver: 'c.d' } },
    {
      name: 'by volume',
      fault: 'CreateVolume duplicate volume=pvc-1',
      hits: {},
      misses: { volumes: ['pvc-2'] },
    },
    { name: 'by node', fault: '* duplicate node=n1', hits: { nodes: ['n1'] }, misses: { nodes: ['n2'] } },
    {
      name: 'by the component that crashes',
      fault: 'crash node before NodeStageVolume',
      hits: { method: 'NodeStageVolume', by: ['node-1', 'node'] },
      misses: { method: 'NodeStageVolume', by: ['health-monitor'] },
    },
  ];
  for (const { name, fault, hits, misses } of cases) {
    it(name, () => {
      const faults = faultsWith(fault);
      assert.equal(faults.strike(call(misses)), undefined);
      assert.equal(faults.strike(call(hits))?.id, 'f1');
      assert.equal(faults.list()[0]?.struck, 1);
    });
  }

  it('as often as its count says, then the next one does, and a spent one costs nothing', () => {
    const faults = faultsWith('CreateVolume lose-answer 2x', 'CreateVolume fail INTERNAL once');
    const struck = [1, 2, 3, 4].map(() => faults.strike(call())?.id);
    assert.deepEqual(struck, ['f1', 'f1', 'f2', undefined]);
    assert.equal(faults.isIdle, true);
    assert.deepEqual(
      faults.list().map(({ struck: often, isSpent }) => [often, isSpent]),
      [
        [2, true],
        [1, true],
      ],
    );
  });

  it('at its rate', () => {
    const faults = faultsWith('CreateVolume fail INTERNAL 30%');
    const hits = Array.from({ length: 2000 }, () => faults.strike(call())).filter(Boolean).length;
    assert.ok(hits > 500 && hits < 700, `${hits} of 2000`);
  });

  it('until it is removed; a removed ID is not used again', () => {
    const faults = faultsWith('CreateVolume duplicate', 'DeleteVolume duplicate');
    faults.remove('f1');
    assert.equal(faults.strike(call()), undefined);
    assert.throws(
      () => faults.remove('f1'),
      (error: Error) => error instanceof FaultError && /there are f2/.test(error.message),
    );
    assert.equal(faults.add('CreateVolume duplicate').id, 'f3');
    assert.equal(faults.removeAll().length, 2);
    assert.equal(faults.isIdle, true);
  });
});
