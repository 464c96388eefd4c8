import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../api/kinds.ts';
import type { KubeObject, Resource } from '../../api/object.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { BinderObjects } from './binder-objects.ts';
import { createVolumeReconciler } from './volume-reconciler.ts';

interface Given {
  claimRef?: object | undefined;
  spec?: object;
  status?: object;
  /** The claim in the cache, and the one that the server has. */
  cached?: object;
  live?: object;
}
const claimRef = { namespace: 'ns', name: 'c', uid: 'uid-c' };
const claim = ({
  uid = 'uid-c',
  ...spec
}: {
  uid?: string;
  volumeName?: string;
  volumeMode?: string;
} = {}) => ({
  metadata: { name: 'c', namespace: 'ns', uid },
  spec,
});

async function reconciled({ cached, live, status, ...given }: Given): Promise<string[]> {
  const done: string[] = [];
  const informers = manualInformers();
  const kube = {
    async get(resource: Resource) {
      done.push(`read ${resource.kind}`);
      if (!live) throw new KubeError({ reason: 'NotFound', code: 404, message: 'gone' });
      return live;
    },
    async update(_resource: Resource, after: PersistentVolume, { subresource = 'object' }) {
      const { phase, message, reason } = after.status ?? {};
      const ref = after.spec.claimRef ? 'reserved' : 'free';
      done.push(
        subresource === 'status' ? `phase ${phase} ${message ?? ''}${reason ?? ''}`.trim() : `write ${ref}`,
      );
      return after;
    },
  } as unknown as KubeClient;
  const objects = new BinderObjects(kube, {
    claims: informers.of(persistentVolumeClaims),
    volumes: informers.of(persistentVolumes),
  });
  const volume = {
    metadata: {
      name: 'pv',
      resourceVersion: '1',
      annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' },
    },
    spec: { ...('claimRef' in given ? { claimRef: given.claimRef } : { claimRef }), ...given.spec },
    ...(status && { status }),
  } as unknown as PersistentVolume;
  informers.change(persistentVolumes, undefined, volume);
  if (cached) informers.change(persistentVolumeClaims, undefined, cached as PersistentVolumeClaim);
  const reconcile = createVolumeReconciler({
    objects,
    recorder: {
      event: ({ metadata }: KubeObject, _type: string, reason: string) =>
        void done.push(`${reason} on ${metadata.name}`),
      flush: async () => {},
    } as never,
    lookAtClaim: (key) => void done.push(`look at ${key}`),
  });
  const run = { signal: new AbortController().signal } as never;
  await reconcile('gone', run);
  await reconcile('pv', run);
  return done;
}

const rows: [string, Given, string[]][] = [
  ['a volume that nobody reserved', { claimRef: undefined }, ['phase Available']],
  ['one that is available already', { claimRef: undefined, status: { phase: 'Available' } }, []],
  [
    'one whose phase was explained',
    { claimRef: undefined, status: { phase: 'Failed', message: 'm', reason: 'r' } },
    ['phase Available'],
  ],
  [
    'one that is reserved by name',
    { claimRef: { namespace: 'ns', name: 'c' } },
    ['phase Available', 'look at ns/c'],
  ],
  ['one whose claim is in the cache', { cached: claim({ volumeName: 'pv' }) }, ['phase Bound']],
  [
    'one whose claim only the server has',
    { live: claim({ volumeName: 'pv' }) },
    ['read PersistentVolumeClaim', 'phase Bound'],
  ],
  ['one whose claim is gone', {}, ['read PersistentVolumeClaim', 'phase Released']],
  [
    'one whose claim was replaced, which the cache shows',
    { cached: claim({ uid: 'x', volumeName: 'pv' }), live: claim({ uid: 'x', volumeName: 'pv' }) },
    ['read PersistentVolumeClaim', 'phase Released'],
  ],
  [
    'one whose claim is newer than the cache',
    { cached: claim({ uid: 'x' }), live: claim({ volumeName: 'pv' }) },
    ['read PersistentVolumeClaim', 'phase Bound'],
  ],
  ['a released one', { status: { phase: 'Released' } }, []],
  [
    'a released one whose claim’s name is in use',
    { status: { phase: 'Released' }, cached: claim({ uid: 'x' }), live: claim({ uid: 'x' }) },
    ['read PersistentVolumeClaim'],
  ],
  [
    'a released one that a user reserves again',
    { claimRef: { namespace: 'ns', name: 'c' }, status: { phase: 'Released' } },
    ['phase Available', 'look at ns/c'],
  ],
  ['one whose claim has another volume', { cached: claim({ volumeName: 'other' }) }, ['write free']],
  ['one whose claim names no volume yet', { cached: claim() }, ['look at ns/c']],
  [
    'one whose claim has another mode',
    { cached: claim({ volumeMode: 'Block' }) },
    ['VolumeMismatch on pv', 'VolumeMismatch on c'],
  ],
  [
    'one that was to be recycled',
    { spec: { persistentVolumeReclaimPolicy: 'Recycle' } },
    [
      'read PersistentVolumeClaim',
      'VolumeFailedRecycle on pv',
      'phase Failed reclaim policy Recycle is not supported: the volume keeps its data and is not bound again',
    ],
  ],
  ['one without the name of its claim', { claimRef: { namespace: 'ns', uid: 'uid-c' } }, ['phase Released']],
];
for (const [name, given, expected] of rows)
  test(`the binder does for ${name}: ${expected.join(', ') || 'nothing'}`, async () => {
    assert.deepEqual(await reconciled(given), expected);
  });
