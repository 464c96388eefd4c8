// Which changes wake the garbage collector.

import { customResourceDefinitions } from '../../api/kinds.ts';
import { changesOf } from '../../runtime/informer/testing/woken-loops.ts';
import type { ServedResource } from '../../runtime/kube/kube.ts';
import { deleting, objectsLike, testWakes } from '../testing/wake-rows.ts';
import { FINALIZER_FOREGROUND, FINALIZER_ORPHAN } from './decide-dependent.ts';
import { createGarbageCollector } from './garbage-collector.ts';

const served = (kind: string): ServedResource => ({
  group: 'test.example',
  version: 'v1',
  plural: `${kind.toLowerCase()}s`,
  kind,
  namespaced: true,
  verbs: ['list', 'watch', 'delete'],
});
const [sets, parts] = [served('Set'), served('Part')];
const discovery = { servedResources: async () => ({ resources: [sets, parts], unknown: [] }) };

const set = objectsLike('s', { metadata: { namespace: 'ns' } });
const part = objectsLike('p', { metadata: { namespace: 'ns' } });
const owner = { apiVersion: 'test.example/v1', kind: 'Set', name: 's', uid: 'uid-s' };
const owned = part({ metadata: { ownerReferences: [owner] } });
const setChanges = changesOf(sets);
const partChanges = changesOf(parts);
const ending = (...finalizers: string[]) => ({ metadata: { ...deleting.metadata, finalizers } });
const waitingSet = set(ending(FINALIZER_FOREGROUND));
const label = { metadata: { ownerReferences: [owner], labels: { a: 'b' } } };

testWakes('the garbage collector', (ports) => createGarbageCollector({ ...ports, discovery }), [
  ['an object without owners', partChanges(undefined, part()), []],
  [
    'an object with an empty list of them',
    partChanges(undefined, part({ metadata: { ownerReferences: [] } })),
    [],
  ],
  ['an object with an owner', partChanges(undefined, owned), ['garbage']],
  ['a label of an object with an owner', partChanges(owned, part(label)), []],
  ['a new owner', partChanges(part(), owned), ['garbage']],
  ['a lost owner', partChanges(owned, part()), []],
  ['a lost owner that waits', partChanges(owned, part()), ['garbage'], [[sets, waitingSet]]],
  ['an object of an owner that waits', partChanges(undefined, owned), ['garbage'], [[sets, waitingSet]]],
  [
    'the end of an object of an owner that waits',
    partChanges(owned, undefined),
    ['garbage'],
    [[sets, waitingSet]],
  ],
  ['the end of an object of an owner', partChanges(owned, undefined), [], [[sets, set()]]],
  ['an object that waits for others', setChanges(set(), waitingSet), ['garbage']],
  ['an object that orphans others', setChanges(set(), set(ending(FINALIZER_ORPHAN))), ['garbage']],
  ['an object that is deleted', setChanges(set(), set(ending('test/x'))), []],
  ['the end of an owner', setChanges(set(), undefined), ['garbage'], [[parts, owned]]],
  ['the end of an object that owns nothing', setChanges(set(), undefined), [], [[parts, part()]]],
  ['a new kind', changesOf(customResourceDefinitions)(undefined, objectsLike('x')()), ['garbage-discovery']],
  [
    'the end of a kind',
    changesOf(customResourceDefinitions)(objectsLike('x')(), undefined),
    ['garbage-discovery'],
  ],
]);
