import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  persistentVolumeClaims,
  persistentVolumes,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
} from '../../api/kinds.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import { deleting, objectsLike } from '../testing/wake-rows.ts';
import { createGroupClaims } from './group-claims.ts';

const claim = objectsLike('c', {
  metadata: { namespace: 'ns', labels: { app: 'db' } },
  spec: { volumeName: 'pv' },
});
const unlabelled = { metadata: { labels: {} } };
const group = objectsLike('g', {
  metadata: { namespace: 'ns' },
  spec: { source: { selector: { matchLabels: { app: 'db' } } } },
});
const contentOf = (...volumeHandles: string[]) =>
  objectsLike('groupsnapcontent-uid-g', { spec: { driver: 'd', source: { volumeHandles } } })();

interface Given {
  claim?: object;
  groups?: object[];
  content?: object;
  isUnplanned?: boolean;
  planned?: string[];
}
const rows: [name: string, given: Given, isNeeded: boolean][] = [
  ['that a group snapshot selects', {}, true],
  ['of no group snapshot', { groups: [] }, false],
  ['that no group snapshot selects', { claim: claim(unlabelled) }, false],
  [
    'whose volume is being cut, although its label is gone',
    { claim: claim(unlabelled), content: contentOf('h') },
    true,
  ],
  [
    'for which a content is being created, although its label is gone',
    { claim: claim(unlabelled), planned: ['ns/c'] },
    true,
  ],
  [
    'beside those that a content is being created for',
    { claim: claim(unlabelled), planned: ['ns/d'] },
    false,
  ],
  ['beside those that are being cut', { claim: claim(unlabelled), content: contentOf('other') }, false],
  [
    'whose volume is being cut for a group snapshot that is being deleted',
    { groups: [group(deleting)], content: contentOf('h') },
    false,
  ],
  ['that is being deleted', { claim: claim(deleting) }, true],
  ['that is being deleted, while nothing can be cut', { claim: claim(deleting), isUnplanned: true }, false],
  ['that stays, while nothing can be cut', { isUnplanned: true }, true],
];
for (const [
  name,
  { claim: known = claim(), groups = [group()], content, isUnplanned, planned = [] },
  isNeeded,
] of rows)
  test(`a claim ${name} is ${isNeeded ? '' : 'not '}needed`, () => {
    const informers = manualInformers();
    const volume = objectsLike('pv', { spec: { csi: { driver: 'd', volumeHandle: 'h' } } })();
    informers.change(persistentVolumes, undefined, volume);
    const needs = createGroupClaims({
      claims: informers.of(persistentVolumeClaims),
      volumes: informers.of(persistentVolumes),
      contents: {
        get: (key) => (key === 'groupsnapcontent-uid-g' ? content : undefined) as VolumeGroupSnapshotContent,
      },
      unreadyIn: () => groups as VolumeGroupSnapshot[],
      planned: new Map([['ns/g', new Set(planned)]]),
      unplanned: new Set(isUnplanned ? ['ns/g'] : []),
    });
    assert.equal(needs.isNeeded(known as never), isNeeded);
  });

test('a group snapshot knows the claims that it selects and those that it was planned with', () => {
  const informers = manualInformers();
  const all = { c: claim(), planned: unlabelled, other: unlabelled };
  for (const [name, given] of Object.entries(all))
    informers.change(
      persistentVolumeClaims,
      undefined,
      objectsLike(name, { metadata: { namespace: 'ns', ...given.metadata }, spec: {} })(),
    );
  const needs = createGroupClaims({
    claims: informers.of(persistentVolumeClaims),
    volumes: informers.of(persistentVolumes),
    contents: { get: () => undefined },
    unreadyIn: () => [],
    unplanned: new Set(),
    planned: new Map([['ns/g', new Set(['ns/planned'])]]),
  });
  const known = needs.knownTo(group() as never).map(({ metadata }) => metadata.name);
  assert.deepEqual(known.sort(), ['c', 'planned']);
});
