import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../api/kinds.ts';
import { parseDriverName, parseVolumeHandle } from '../../csi/names/driver-name.ts';
import type { MountableVolume } from '../../csi-plugin/mount/mountable-volume.ts';
import type { ActualMount, ActualVolume } from './actual-state.ts';
import { decideVolume } from './decide-volume.ts';
import { type DesiredMount, mountKey } from './desired-state.ts';

const volume = (over: Partial<MountableVolume> = {}): MountableVolume => ({
  driver: parseDriverName('d.test'),
  handle: parseVolumeHandle('h'),
  specName: 'pv',
  lifecycle: 'Persistent',
  block: false,
  attributes: {},
  fsType: '',
  accessModes: ['ReadWriteOnce'],
  mountOptions: [],
  readOnly: false,
  secrets: {},
  ...over,
});
const wanted = (uid: string, over: Partial<MountableVolume> = {}): [string, DesiredMount] => [
  mountKey(uid, over.specName ?? 'pv'),
  {
    pod: { metadata: { uid, name: uid } } as Pod,
    volume: volume(over),
    volumeNames: ['data'],
    readOnly: false,
  },
];
const mounted = (uid: string, state: ActualMount['state'] = 'mounted'): [string, ActualMount] => [
  mountKey(uid, 'pv'),
  { podUid: uid, volume: volume(), state, path: '/p', readOnly: false, publishedAtMs: 0 },
];
const actual = (device: ActualVolume['device'], mounts: [string, ActualMount][] = []): ActualVolume => ({
  volume: volume(),
  device,
  isUnstaged: false,
  mounts: new Map(mounts),
  expanded: undefined,
  size: undefined,
});

const blockDevice = (device: ActualVolume['device'], mounts: [string, ActualMount][] = []) => ({
  ...actual(device, mounts),
  volume: volume({ block: true }),
});
const unstaged = (mounts: [string, ActualMount][] = []) => ({
  ...actual('mounted', mounts),
  isUnstaged: true,
});

interface Case {
  name: string;
  desired?: [string, DesiredMount][];
  actual?: ActualVolume;
  /** Pods that need their volumes; `false`: not fully resolved. */
  living?: Record<string, boolean>;
  isPopulated?: boolean;
  republish?: boolean;
  grows?: string;
  /** The driver has the capability to stage. */
  stages?: boolean;
  then: string[];
}

const cases: Case[] = [
  { name: 'nothing wanted, nothing there', then: [] },
  { name: 'wanted: staged first', desired: [wanted('a')], then: ['mount-device'] },
  {
    name: 'staged: published for each pod',
    desired: [wanted('a'), wanted('b')],
    actual: actual('mounted'),
    then: ['set-up a/pv', 'set-up b/pv'],
  },
  {
    name: '[NOD-7] staged with another SELinux label, nobody uses it: unstaged first',
    desired: [wanted('a', { seLinuxLabel: 'x' })],
    actual: actual('mounted'),
    then: ['unmount-device'],
  },
  {
    name: '[NOD-7] staged with another SELinux label for a pod that has it: waits',
    desired: [wanted('a', { seLinuxLabel: 'x' }), wanted('b')],
    actual: actual('mounted', [mounted('b')]),
    living: { b: true },
    then: ['wait-for-pod a/pv'],
  },
  {
    name: '[NOD-7] staged with another SELinux label for a pod that will get it: waits, no unstage in turns',
    desired: [wanted('a', { seLinuxLabel: 'x' }), wanted('b')],
    actual: actual('mounted'),
    then: ['wait-for-pod a/pv', 'set-up b/pv'],
  },
  {
    name: 'a block volume that is staged under the name of another PersistentVolume, nobody uses it: unstaged first',
    desired: [wanted('a', { block: true, specName: 'pv-b' })],
    actual: blockDevice('uncertain'),
    then: ['unmount-device'],
  },
  {
    name: 'a block volume that a pod has through another PersistentVolume: waits',
    desired: [wanted('a', { block: true, specName: 'pv-b' }), wanted('b', { block: true })],
    actual: blockDevice('mounted', [mounted('b')]),
    then: ['wait-for-pod a/pv-b'],
  },
  {
    name: 'a block volume that a pod will get through another PersistentVolume: waits, no unstage in turns',
    desired: [wanted('a', { block: true, specName: 'pv-b' }), wanted('b', { block: true })],
    actual: blockDevice('mounted'),
    then: ['wait-for-pod a/pv-b', 'set-up b/pv'],
  },
  {
    name: 'a block volume that its driver does not stage, through another PersistentVolume: set up',
    desired: [wanted('a', { block: true, specName: 'pv-b' }), wanted('b', { block: true })],
    actual: { ...blockDevice('mounted', [mounted('b')]), isUnstaged: true },
    stages: false,
    then: ['set-up a/pv-b'],
  },
  {
    name: 'staged in the other volume mode: unstaged first',
    desired: [wanted('a', { block: true })],
    actual: actual('mounted'),
    then: ['unmount-device'],
  },
  {
    name: 'a filesystem that a pod has through another PersistentVolume is staged at the same place',
    desired: [wanted('a', { specName: 'pv-b' }), wanted('b')],
    actual: actual('mounted', [mounted('b')]),
    then: ['set-up a/pv-b'],
  },
  {
    name: 'an uncertain device is staged again before it is published',
    desired: [wanted('a')],
    actual: actual('uncertain'),
    then: ['mount-device'],
  },
  {
    name: 'an uncertain mount is set up again',
    desired: [wanted('a')],
    actual: actual('mounted', [mounted('a', 'uncertain')]),
    then: ['set-up a/pv'],
  },
  {
    name: 'an ephemeral volume is never staged',
    desired: [wanted('a', { lifecycle: 'Ephemeral' })],
    then: ['set-up a/pv'],
  },
  {
    name: 'all there: nothing to do',
    desired: [wanted('a')],
    actual: actual('mounted', [mounted('a')]),
    then: [],
  },
  {
    name: 'a pod that went: torn down, and only then unstaged',
    actual: actual('mounted', [mounted('a')]),
    then: ['tear-down a/pv'],
  },
  { name: 'no pod left: unstaged', actual: actual('mounted'), then: ['unmount-device'] },
  {
    name: 'an uncertain device of nobody is unstaged too',
    actual: actual('uncertain'),
    then: ['unmount-device'],
  },
  {
    name: 'unmount comes before mount',
    desired: [wanted('b')],
    actual: actual('mounted', [mounted('a')]),
    then: ['tear-down a/pv', 'set-up b/pv'],
  },
  {
    name: 'nothing is unmounted before all pods are known',
    actual: actual('mounted', [mounted('a')]),
    isPopulated: false,
    then: [],
  },
  {
    name: 'nothing is unstaged before all pods are known',
    actual: actual('uncertain'),
    isPopulated: false,
    then: [],
  },
  {
    name: 'a pod whose volumes are not all known keeps what it has',
    actual: actual('mounted', [mounted('a', 'uncertain')]),
    living: { a: false },
    then: [],
  },
  {
    name: 'a pod that is known in whole and does not have it loses it',
    actual: actual('mounted', [mounted('a')]),
    living: { a: true },
    then: ['tear-down a/pv'],
  },
  {
    name: 'ReadWriteOncePod: the second pod waits for the first',
    desired: [wanted('b', { accessModes: ['ReadWriteOncePod'] })],
    actual: actual('mounted', [mounted('a')]),
    living: { a: false },
    then: ['wait-for-pod b/pv'],
  },
  {
    name: 'published too long ago',
    desired: [wanted('a')],
    actual: actual('mounted', [mounted('a')]),
    republish: true,
    then: ['republish a/pv'],
  },
  {
    name: 'grown meanwhile',
    desired: [wanted('a')],
    actual: actual('mounted', [mounted('a')]),
    grows: '2Gi',
    then: ['expand 2Gi'],
  },
  {
    name: 'of a driver that does not stage: published for each pod',
    desired: [wanted('a'), wanted('b')],
    actual: unstaged([mounted('a')]),
    stages: false,
    then: ['set-up b/pv'],
  },
  {
    name: 'mounted before its driver learned to stage: staged before the next pod',
    desired: [wanted('a'), wanted('b')],
    actual: unstaged([mounted('a')]),
    then: ['mount-device'],
  },
  {
    name: 'mounted before its driver learned to stage: staged before it is published again',
    desired: [wanted('a')],
    actual: unstaged([mounted('a')]),
    republish: true,
    then: ['mount-device'],
  },
  {
    name: 'mounted before its driver learned to stage: staged before it is expanded',
    desired: [wanted('a')],
    actual: unstaged([mounted('a')]),
    grows: '2Gi',
    then: ['mount-device'],
  },
  {
    name: 'mounted before its driver learned to stage, in nobody’s way: left as it is',
    desired: [wanted('a')],
    actual: unstaged([mounted('a')]),
    then: [],
  },
  { name: 'not expanded before it is mounted', desired: [wanted('a')], grows: '2Gi', then: ['mount-device'] },
];

describe('what to do next about a volume', () => {
  for (const {
    name,
    desired = [],
    actual,
    living = {},
    isPopulated = true,
    republish = false,
    grows,
    stages = true,
    then,
  } of cases) {
    test(name, () => {
      const steps = decideVolume({
        desired: new Map(desired),
        actual,
        podOf: (uid) => (uid in living ? { resolved: living[uid] === true, mounts: new Map() } : undefined),
        isPopulated,
        isRepublishDue: () => republish,
        needsStaging: () => stages,
        growsTo: () => grows,
      });
      assert.deepEqual(
        steps.map(({ id }) => id),
        then,
      );
    });
  }
});
