import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CustomResourceDefinition } from '../../api/kinds.ts';
import type { Loose } from '../kinds/loose.ts';
import { definitionStatus, isEstablished, namesTakenBy, recordStoredVersion } from './definition-status.ts';

type Status = CustomResourceDefinition['status'];
const names = {
  plural: 'widgets',
  singular: 'widget',
  shortNames: ['w', 'wd'],
  kind: 'Widget',
  listKind: 'WidgetList',
};
const crd = (status?: Status, more: object = {}, group = 'shop.io') =>
  ({
    metadata: { name: `${{ ...names, ...more }.plural}.${group}` },
    spec: { group, names: { ...names, ...more } },
    ...(status && { status }),
  }) as unknown as CustomResourceDefinition;
const taken = (resources: string[] = [], kinds: string[] = []) => ({
  resources: new Set(resources),
  kinds: new Set(kinds),
});
const shown = (status: Status) =>
  status?.conditions?.map(({ type, status: is, reason }) => `${type}=${is} ${reason}`);

const conflicts: [what: string, of: ReturnType<typeof taken>, reason: string, name: string][] = [
  ['the plural', taken(['widgets', 'widget']), 'PluralConflict', 'widgets'],
  ['the singular', taken(['widget', 'w']), 'SingularConflict', 'widget'],
  ['a short name', taken(['wd'], ['Widget']), 'ShortNamesConflict', 'wd'],
  ['the kind', taken([], ['Widget', 'WidgetList']), 'KindConflict', 'Widget'],
  ['the kind of lists', taken(['x'], ['WidgetList']), 'ListKindConflict', 'WidgetList'],
];
for (const [what, of, reason, name] of conflicts) {
  test(`a definition is not accepted whose names are taken: ${what}`, () => {
    const status = definitionStatus(crd(), of, 'now');
    assert.deepEqual(shown(status), [`NamesAccepted=False ${reason}`, 'Established=False NotAccepted']);
    assert.equal(status.conditions?.[0]?.message, `"${name}" is already in use`);
    assert.deepEqual(status.acceptedNames, { plural: '', kind: '' });
    assert.equal(isEstablished(crd(status)), false);
  });
}

test('a definition whose names are free is accepted, with all of them', () => {
  const status = definitionStatus(crd(), taken(['Widget'], ['widgets']), 'now');
  assert.deepEqual(shown(status), [
    'NamesAccepted=True NoConflicts',
    'Established=True InitialNamesAccepted',
  ]);
  assert.deepEqual(status.acceptedNames, names);
  assert.deepEqual(status.storedVersions, []);
  assert.equal(isEstablished(crd(status)), true);
  assert.equal(isEstablished(crd()), false);
  const bare = crd(undefined, { singular: '', listKind: undefined, shortNames: undefined });
  assert.equal(isEstablished(crd(definitionStatus(bare, taken([''], ['']), 'now'))), true);
});

test('an established definition stays so, with its old names, when its new ones are taken', () => {
  const before = { ...definitionStatus(crd(), taken(), 'before'), storedVersions: ['v1'] };
  const status = definitionStatus(crd(before, { shortNames: ['x'] }), taken(['x']), 'now');
  assert.deepEqual(shown(status), [
    'NamesAccepted=False ShortNamesConflict',
    'Established=True InitialNamesAccepted',
  ]);
  assert.deepEqual(status.acceptedNames, names);
  assert.deepEqual(status.storedVersions, ['v1']);
});

test('a condition has the time since when it has its status', () => {
  const times = (status: Status) => status?.conditions?.map((each) => each.lastTransitionTime);
  const first = definitionStatus(crd(), taken(), 'one');
  assert.deepEqual(times(first), ['one', 'one']);
  const same = definitionStatus(crd(first), taken(), 'two');
  assert.deepEqual(times(same), ['one', 'one']);
  const lost = definitionStatus(crd(same), taken(['widgets']), 'three');
  assert.deepEqual(times(lost), ['three', 'one']);
});

test('names are taken by other definitions of the group: those that were accepted, or wanted', () => {
  const of = (...others: CustomResourceDefinition[]) => {
    const { resources, kinds } = namesTakenBy(others, crd());
    return [[...resources], [...kinds]];
  };
  assert.deepEqual(of(crd(), crd(undefined, { plural: 'others' }, 'else.io')), [[], []]);
  const gears = { plural: 'gears', singular: '', shortNames: undefined, kind: 'Gear', listKind: undefined };
  assert.deepEqual(of(crd(undefined, gears)), [['gears'], ['Gear']]);
  const all = { plural: 'gears', singular: 'gear', shortNames: ['g'], kind: 'Gear', listKind: 'GearList' };
  const both = [
    ['gears', 'gear', 'g'],
    ['Gear', 'GearList'],
  ];
  assert.deepEqual(of(crd(undefined, all)), both);
  assert.deepEqual(of(crd({ acceptedNames: all, conditions: [], storedVersions: [] }, gears)), both);
});

test('the storage version is recorded once, after those that were before', () => {
  const recorded = (storedVersions: string[] | undefined, ...versions: object[]) => {
    const definition = { spec: { versions }, status: storedVersions && { storedVersions, kept: 1 } };
    recordStoredVersion(definition as unknown as Loose);
    return definition.status?.storedVersions;
  };
  const [v1, v2] = [{ name: 'v1' }, { name: 'v2', storage: true }];
  assert.deepEqual(recorded(undefined, v1, v2), ['v2']);
  assert.deepEqual(recorded(['v1'], v1, v2), ['v1', 'v2']);
  assert.deepEqual(recorded(['v2', 'v1'], v1, v2), ['v2', 'v1']);
  assert.deepEqual(recorded(['v1'], v1, { name: 'v2', storage: false }), ['v1']);
  assert.deepEqual(recorded(['v1'], { storage: true }), ['v1']);
});
