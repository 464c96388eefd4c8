import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csiDrivers, csiNodeInfos, csiNodes } from '../../api/kinds.ts';
import { parseDriverName } from '../../csi/names/driver-name.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import { DriversOnNodes } from './drivers-on-nodes.ts';

const DRIVER = parseDriverName('d');

function world() {
  const informers = manualInformers();
  const drivers = new DriversOnNodes({
    drivers: informers.of(csiDrivers),
    csiNodes: informers.of(csiNodes),
    csiNodeInfos: informers.of(csiNodeInfos),
  });
  return {
    drivers,
    driver: (spec: object) => informers.change(csiDrivers, undefined, { metadata: { name: 'd' }, spec }),
    csiNode: (before: object | undefined, after: object | undefined) =>
      informers.change(csiNodes, before, after),
  };
}
const running = (name: string, ...drivers: object[]) => ({ metadata: { name }, spec: { drivers } });
const here = { name: 'n', node: { metadata: { name: 'n' } } } as never;

test('a driver is one while a CSIDriver or the CSINode of any node names it', () => {
  const { drivers, csiNode, driver } = world();
  assert.equal(drivers.isCsiDriver(DRIVER), false);
  const [one, two] = [running('n', { name: 'd', nodeID: 'i' }), running('m', { name: 'd', nodeID: 'i' })];
  csiNode(undefined, one);
  csiNode(undefined, two);
  assert.equal(drivers.isCsiDriver(DRIVER), true);
  csiNode(one, running('n'));
  assert.equal(drivers.isCsiDriver(DRIVER), true);
  csiNode(two, undefined);
  assert.equal(drivers.isCsiDriver(DRIVER), false);
  csiNode(undefined, { metadata: { name: 'without-a-spec' } });
  driver({});
  assert.equal(drivers.isCsiDriver(DRIVER), true);
});

for (const value of [true, false, undefined]) {
  test(`a CSIDriver with ${value} for its capacity and for being installed`, () => {
    const { drivers, driver } = world();
    driver({ storageCapacity: value, preventPodSchedulingIfMissing: value });
    assert.equal(drivers.publishesCapacity(DRIVER), value === true);
    assert.equal(drivers.mustBeInstalled(DRIVER), value === true);
  });
}

test('a driver without a CSIDriver publishes no capacity and need not be installed', () => {
  const { drivers } = world();
  assert.deepEqual([drivers.publishesCapacity(DRIVER), drivers.mustBeInstalled(DRIVER)], [false, false]);
});

test('[NOD-4] the limit of volumes is that of the driver on the node', () => {
  const { drivers, csiNode } = world();
  assert.equal(drivers.volumeLimit(DRIVER, here), undefined);
  csiNode(
    undefined,
    running('n', { name: 'e', allocatable: { count: 1 } }, { name: 'd', allocatable: { count: 2 } }),
  );
  csiNode(undefined, running('m', { name: 'd', allocatable: { count: 3 } }));
  assert.equal(drivers.volumeLimit(DRIVER, here), 2);
  assert.equal(drivers.driverOn(DRIVER, here)?.nodeId, undefined);
});
