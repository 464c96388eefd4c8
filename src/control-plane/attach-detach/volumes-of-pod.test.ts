import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, PersistentVolumeClaim, Pod, PodVolume } from '../../api/kinds.ts';
import { volumesOfPod } from './volumes-of-pod.ts';

const DRIVER = 'driver.example';
const ofPod = [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'pod', controller: true }];

function claim(name: string, change: { volumeName?: string; ownerReferences?: object[] } = {}) {
  const { volumeName = 'pv', ownerReferences } = change;
  return {
    metadata: { name, namespace: 'ns', uid: `uid-${name}`, ...(ownerReferences && { ownerReferences }) },
    spec: { volumeName },
  } as PersistentVolumeClaim;
}

const claimRef = { namespace: 'ns', name: 'data', uid: 'uid-data' };

function volume(change: Partial<PersistentVolume['spec']> = {}) {
  const csi = { driver: DRIVER, volumeHandle: 'h' };
  return {
    metadata: { name: 'pv' },
    spec: { claimRef, csi, accessModes: ['ReadWriteOnce'], ...change },
  } as PersistentVolume;
}

const ofClaim: PodVolume = { name: 'v', persistentVolumeClaim: { claimName: 'data' } };
const ephemeral: PodVolume = { name: 'v', ephemeral: {} };

/** `used`: how the volume is shown, and whether one node at most may have it; undefined when nothing is attached. */
const table: {
  name: string;
  podVolume?: PodVolume;
  claim?: PersistentVolumeClaim;
  volume?: PersistentVolume;
  used: string | undefined;
}[] = [
  { name: 'a bound claim', claim: claim('data'), volume: volume(), used: 'pv, exclusive' },
  { name: 'a claim that does not exist', volume: volume(), used: undefined },
  {
    name: 'a claim that is not bound',
    claim: claim('data', { volumeName: '' }),
    volume: volume(),
    used: undefined,
  },
  { name: 'a volume that does not exist', claim: claim('data'), used: undefined },
  {
    name: 'a volume that is bound to another claim',
    claim: claim('data'),
    volume: volume({ claimRef: { ...claimRef, uid: 'earlier' } }),
    used: undefined,
  },
  {
    name: 'a volume that is not CSI',
    claim: claim('data'),
    volume: volume({ csi: undefined } as never),
    used: undefined,
  },
  {
    name: 'a volume of which one mode is shared',
    claim: claim('data'),
    volume: volume({ accessModes: ['ReadWriteOnce', 'ReadWriteMany'] }),
    used: 'pv, shared',
  },
  {
    name: 'a volume that many nodes may read',
    claim: claim('data'),
    volume: volume({ accessModes: ['ReadOnlyMany'] }),
    used: 'pv, shared',
  },
  {
    name: 'a volume without access modes',
    claim: claim('data'),
    volume: volume({ accessModes: [] }),
    used: 'pv, shared',
  },
  {
    name: 'a generic ephemeral volume',
    podVolume: ephemeral,
    claim: claim('p-v', { ownerReferences: ofPod }),
    volume: volume({ claimRef: { namespace: 'ns', name: 'p-v' } }),
    used: 'pv, exclusive',
  },
  {
    name: 'a generic ephemeral volume whose claim was not made for the pod',
    podVolume: ephemeral,
    claim: claim('p-v'),
    volume: volume({ claimRef: { namespace: 'ns', name: 'p-v' } }),
    used: undefined,
  },
  {
    name: 'an inline volume with a handle',
    podVolume: { name: 'v', csi: { driver: DRIVER, volumeHandle: 'h' } },
    used: 'v, exclusive',
  },
  { name: 'an ephemeral inline volume', podVolume: { name: 'v', csi: { driver: DRIVER } }, used: undefined },
  { name: 'a volume of another kind', podVolume: { name: 'v', emptyDir: {} }, used: undefined },
];

for (const { name, podVolume = ofClaim, used, ...world } of table) {
  test(`${name}: ${used ?? 'nothing to attach'}`, () => {
    const pod = {
      metadata: { name: 'p', namespace: 'ns', uid: 'pod' },
      spec: { volumes: [podVolume] },
    } as Pod;
    const found = volumesOfPod(pod, {
      claim: (key) => (key === `ns/${world.claim?.metadata.name}` ? world.claim : undefined),
      volume: (pvName) => (pvName === 'pv' ? world.volume : undefined),
    }).get('v');
    assert.equal(found && `${found.shownAs}, ${found.exclusive ? 'exclusive' : 'shared'}`, used);
    assert.equal(found?.volumeId, used && `kubernetes.io/csi/${DRIVER}^h`);
  });
}
