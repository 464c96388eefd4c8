// Routes: parsing and formatting are inverse.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  detailsRoute,
  formatRoute,
  listRoute,
  parseRoute,
  type Route,
  routeOfChainSubject,
} from './routes.ts';

const volumes = listRoute('volumes');
const cases: { hash: string; route: Route; written?: string }[] = [
  { hash: '#/volumes', route: volumes },
  { hash: '#/activity', route: listRoute('activity') },
  { hash: '#/volumes?filter=web', route: listRoute('volumes', { filter: 'web' }) },
  { hash: '#/pods?filter=a+b%3F%26%23', route: listRoute('pods', { filter: 'a b?&#' }) },
  {
    hash: '#/volumes?filter=x&state=stuck&sort=age&order=desc',
    route: listRoute('volumes', { filter: 'x', state: 'stuck', sort: 'age', isDescending: true }),
  },
  { hash: '#/volumes?state=odd', route: volumes, written: '#/volumes' },
  {
    hash: '#/claim/my%20ns/a%2Fb',
    route: detailsRoute({ kind: 'claim', namespace: 'my ns', name: 'a/b' }),
  },
  { hash: '#/pod/ns/web', route: detailsRoute({ kind: 'pod', namespace: 'ns', name: 'web' }) },
  { hash: '#/volume/pv-1', route: detailsRoute({ kind: 'volume', name: 'pv-1' }) },
  { hash: '#/snapshot/ns/s', route: detailsRoute({ kind: 'snapshot', namespace: 'ns', name: 's' }) },
  { hash: '#/group/ns/g', route: detailsRoute({ kind: 'group', namespace: 'ns', name: 'g' }) },
  { hash: '#/node/node-1', route: detailsRoute({ kind: 'node', name: 'node-1' }) },
  { hash: '#/driver/d.test', route: detailsRoute({ kind: 'driver', name: 'd.test' }) },
  { hash: '#/class/fast', route: detailsRoute({ kind: 'class', name: 'fast' }) },
  { hash: '#/constructor/x', route: volumes, written: '#/volumes' },
  { hash: '', route: volumes, written: '#/volumes' },
  { hash: '#/', route: volumes, written: '#/volumes' },
  { hash: '#/elsewhere', route: volumes, written: '#/volumes' },
  { hash: '#/volumes/more', route: volumes, written: '#/volumes' },
  { hash: '#/claim/only-one', route: volumes, written: '#/volumes' },
  { hash: '#/volume/a/b', route: volumes, written: '#/volumes' },
  { hash: '#/volume/', route: volumes, written: '#/volumes' },
  { hash: '#/volume/%zz', route: detailsRoute({ kind: 'volume', name: '%zz' }), written: '#/volume/%25zz' },
];
for (const { hash, route, written = hash } of cases) {
  test(`the address ${JSON.stringify(hash)}`, () => {
    assert.deepEqual(parseRoute(hash), route);
    assert.equal(formatRoute(route), written);
  });
}

const subjects: [string, string | undefined][] = [
  ['PersistentVolumeClaim ns/data', '#/claim/ns/data'],
  ['Pod ns/web', '#/pod/ns/web'],
  ['PersistentVolume pv-1', '#/volume/pv-1'],
  ['VolumeSnapshot ns/s', '#/snapshot/ns/s'],
  ['VolumeGroupSnapshot ns/g', '#/group/ns/g'],
  ['Node node-1', '#/node/node-1'],
  ['CSIDriver d.test', '#/driver/d.test'],
  ['driver d.test', '#/driver/d.test'],
  ['StorageClass fast', '#/class/fast'],
  ['constructor x', undefined],
  ['attachment to node-1', undefined],
  ['expansion to 2Gi', undefined],
  ['Pod web', undefined],
  ['PersistentVolume a/b', undefined],
];
for (const [subject, hash] of subjects) {
  test(`the page of the chain's ${subject}`, () => {
    const route = routeOfChainSubject(subject);
    assert.equal(route && formatRoute(route), hash);
  });
}
