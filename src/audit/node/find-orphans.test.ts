import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findOrphans, type NodeFacts, usedKey } from './find-orphans.ts';

const PODS = '/k/pods';
const STAGING = '/k/plugins/kubernetes.io/csi/d/1';
const podVolume = (podUid: string) => {
  const directory = `${PODS}/${podUid}/volumes/kubernetes.io~csi/pv`;
  return { podUid, directory, target: `${directory}/mount` };
};
const staged = (handle: string) => ({
  driver: 'd',
  handle,
  directory: STAGING,
  staging: `${STAGING}/globalmount`,
});
const facts = (given: Partial<NodeFacts>): NodeFacts => ({
  node: 'n1',
  pods: new Set(['known']),
  used: new Set([usedKey('d', 'vol')]),
  podVolumes: [podVolume('known')],
  staged: [staged('vol')],
  mountPoints: new Set([podVolume('known').target, `${STAGING}/globalmount`, '/elsewhere/pods/x/mount']),
  podsDirectory: PODS,
  ...given,
});
const gone = podVolume('gone');

const cases: { name: string; given: Partial<NodeFacts>; then: string[] }[] = [
  { name: 'every volume has its pod', given: {}, then: [] },
  {
    name: 'a mount of a pod that is gone',
    given: { podVolumes: [gone], mountPoints: new Set([gone.target]) },
    then: [`mount-orphaned/${gone.target}`],
  },
  {
    name: 'a directory of a pod that is gone',
    given: { podVolumes: [gone], mountPoints: new Set() },
    then: [`directory-orphaned/${gone.directory}`],
  },
  {
    name: 'a subpath of a pod that is gone',
    given: { mountPoints: new Set([`${PODS}/gone/volume-subpaths/pv/main/0`]) },
    then: [`mount-orphaned/${PODS}/gone/volume-subpaths/pv/main/0`],
  },
  {
    name: 'a staged volume that no pod uses',
    given: { used: new Set() },
    then: [`mount-orphaned/${STAGING}/globalmount`],
  },
  {
    name: 'a staging directory whose record cannot be read',
    given: { staged: [staged('')], mountPoints: new Set() },
    then: [`directory-orphaned/${STAGING}`],
  },
];
for (const { name, given, then } of cases) {
  test(`[AUD-1] on a node: ${name} → ${then.join() || 'nothing'}`, () => {
    assert.deepEqual(
      findOrphans(facts(given)).map(({ id }) => id),
      then,
    );
  });
}
