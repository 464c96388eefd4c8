import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDriverName } from '../../csi/names/driver-name.ts';
import { DriverRegistry, type RegisteredDriver } from './driver-registry.ts';

const NAME = parseDriverName('d');

function world() {
  const registry = new DriverRegistry();
  const closed: string[] = [];
  const heard: string[] = [];
  const stop = registry.subscribe((name) => heard.push(name));
  const driver = (socket: string, name = NAME) =>
    ({ name, socket, close: () => void closed.push(socket) }) as unknown as RegisteredDriver;
  return { registry, closed, heard, stop, driver };
}

test('a driver that registers again replaces the one before it, whose socket removes nothing then', () => {
  const { registry, closed, heard, driver } = world();
  registry.add(driver('old'));
  registry.add(driver('new'));
  assert.deepEqual(closed, ['old']);
  assert.equal(registry.remove(NAME, 'old'), false);
  assert.equal(registry.get(NAME)?.socket, 'new');
  assert.equal(registry.remove(NAME, 'new'), true);
  assert.equal(registry.get(NAME), undefined);
  assert.equal(registry.remove(NAME, 'new'), false);
  assert.deepEqual(closed, ['old', 'new']);
  assert.deepEqual(heard, ['d', 'd', 'd']);
});

test('the registry tells whoever listens, and closes all at the end', () => {
  const { registry, closed, heard, stop, driver } = world();
  registry.add(driver('b', parseDriverName('b')));
  stop();
  registry.add(driver('a', parseDriverName('a')));
  assert.deepEqual([registry.names(), heard], [['a', 'b'], ['b']]);
  registry.closeAll();
  assert.deepEqual([registry.names(), closed.toSorted()], [[], ['a', 'b']]);
});
