// Which changes make the volume manager look again, and at what.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uniqueVolumeName } from '../../api/volumes.ts';
import { parseDriverName } from '../../csi/names/driver-name.ts';
import { followChanges } from './follow-changes.ts';

const key = (driver: string, handle: string) => uniqueVolumeName(parseDriverName(driver), handle);
const [wanted, bound, mounted, other] = [key('d', 'w'), key('d', 'b'), key('d', 'm'), key('e', 'o')];

/** Two volumes of `d` are desired, one of them bound to nodes; a third is mounted, and one is of `e`. */
function follow() {
  const heard: string[] = [];
  const tell =
    (what: string) =>
    (name: string): void =>
      void heard.push(`${what} ${name}`);
  // biome-ignore lint/suspicious/noExplicitAny: handlers of four kinds, called with parts of objects
  const handlers: Record<string, any> = {};
  const cache = (kind: string) => ({
    subscribe(given: unknown) {
      handlers[kind] = given;
      return () => tell('unsubscribed')(kind);
    },
  });
  const registered = new Set(['d']);
  const stop = followChanges({
    pods: cache('pods'),
    node: cache('node'),
    csiDrivers: cache('drivers'),
    registry: { ...cache('registry'), get: (name: string) => (registered.has(name) ? {} : undefined) },
    desired: {
      volumeKeys: () => [wanted, bound, other],
      mountsOf: (volume: string) =>
        new Map([['p', { volume: volume === bound ? { requiredNodes: {} } : {} }]]),
      pods: () => [
        { pod: { metadata: { uid: 'resolved' } }, resolved: true },
        { pod: { metadata: { uid: 'waiting' } }, resolved: false },
      ],
    },
    actual: { keys: () => [mounted, bound] },
    reconciler: { retry: tell('volume') },
    populator: { retry: tell('pod') },
    podSeen: ({ name }: { name: string }) => tell('seen')(name),
    registered: tell('registered'),
  } as never);
  return { heard, handlers, stop };
}

const node = (labels: object, ...attached: string[]) => ({
  metadata: { labels },
  status: { volumesAttached: attached.map((name) => ({ name })) },
});
const ofD = [`volume ${wanted}`, `volume ${bound}`, `volume ${mounted}`];
const driver = { metadata: { name: 'd' } };

// biome-ignore lint/suspicious/noExplicitAny: as above
const rows: [name: string, act: (handlers: Record<string, any>) => void, heard: string[]][] = [
  ['a pod', ({ pods }) => pods.added({ name: 'a' }), ['seen a']],
  ['a pod that changes', ({ pods }) => pods.updated({ name: 'a' }, { name: 'b' }), ['seen b']],
  ['a driver that registers', ({ registry }) => registry('d'), [...ofD, 'registered d']],
  ['a driver that leaves', ({ registry }) => registry('e'), [`volume ${other}`]],
  ['a CSIDriver', ({ drivers }) => drivers.added(driver), [...ofD, 'pod waiting']],
  ['a CSIDriver that changes', ({ drivers }) => drivers.updated({}, driver), [...ofD, 'pod waiting']],
  ['a CSIDriver that is deleted', ({ drivers }) => drivers.deleted(driver), [...ofD, 'pod waiting']],
  ['the node’s labels', (each) => each.node.updated(node({}), node({ zone: 'a' })), [`volume ${bound}`]],
  ['a volume that is attached', (each) => each.node.updated(node({}, 'x'), node({}, 'x', 'y')), ['volume y']],
  ['a volume that is detached', (each) => each.node.updated(node({}, 'x', 'y'), node({}, 'x')), []],
  ['a node without a status', (each) => each.node.updated({ metadata: {} }, { metadata: {} }), []],
];
for (const [name, act, heard] of rows) {
  test(`${name} wakes ${heard.join(', ') || 'nothing'}`, () => {
    const followed = follow();
    act(followed.handlers);
    assert.deepEqual(followed.heard, heard);
  });
}

test('nothing is followed after the end', () => {
  const { heard, stop } = follow();
  stop();
  assert.equal(heard.length, 4);
});
