import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  configMaps,
  namespaces,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type PodSpec,
  persistentVolumeClaims,
  persistentVolumes,
  secrets,
} from '../../api/kinds.ts';
import { draft, testServer } from '../../apiserver/testing/test-server.ts';
import { resolveVolumes } from './resolve-volumes.ts';

const STATUS = { subresource: 'status', type: 'merge' } as const;

async function start(t: TestContext) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  await kube.create(namespaces, draft({ metadata: { name: 'default' } })).catch(() => {});
  /** A claim `name`, bound to a volume `pv-name`, unless told otherwise. */
  const claim = async (
    name: string,
    over: {
      phase?: string;
      ref?: object | null;
      block?: boolean;
      owner?: string;
      metadata?: object;
      volume?: boolean;
    } = {},
  ): Promise<PersistentVolumeClaim> => {
    const volumeMode = over.block ? 'Block' : 'Filesystem';
    const common = { accessModes: ['ReadWriteOnce'], storageClassName: '', volumeMode };
    const made = await kube.create(
      persistentVolumeClaims,
      draft<PersistentVolumeClaim>({
        metadata: {
          name,
          namespace: 'default',
          ...(over.owner && {
            ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: over.owner }],
          }),
          ...over.metadata,
        },
        spec: { ...common, volumeName: `pv-${name}`, resources: { requests: { storage: '1Gi' } } },
      }),
    );
    if (over.volume !== false) {
      const claimRef = { name, namespace: 'default', uid: made.metadata.uid, ...over.ref };
      await kube.create(
        persistentVolumes,
        draft<PersistentVolume>({
          metadata: { name: `pv-${name}` },
          spec: {
            ...common,
            capacity: { storage: '1Gi' },
            csi: { driver: 'd.test', volumeHandle: `h-${name}` },
            claimRef,
          },
        }),
      );
    }
    const name_ = { name, namespace: 'default' };
    await kube.patch(persistentVolumeClaims, name_, { status: { phase: over.phase ?? 'Bound' } }, STATUS);
    return made;
  };
  const resolve = async (volumes: PodSpec['volumes'], over: { spec?: object; phase?: string } = {}) => {
    const pod = {
      metadata: { name: 'p', namespace: 'default', uid: 'u-1' },
      spec: { ...(volumes && { volumes }), ...over.spec },
      status: { phase: over.phase ?? 'Pending' },
    } as unknown as Pod;
    const ports = { kube, driverObject: () => undefined, seLinuxLabel: () => undefined };
    const { mounts, claims, problems } = await resolveVolumes(ports, pod, new AbortController().signal);
    return {
      mounts: [...mounts.values()].map(({ volume, volumeNames, readOnly, claimKey }) => ({
        specName: volume.specName,
        volumeNames,
        readOnly,
        claimKey,
      })),
      claims: [...claims.keys()],
      problem: [...problems.values()].map(({ why }) => why).join(),
      event: [...problems.values()].map(({ event }) => event).join(),
    };
  };
  return { kube, claim, resolve };
}

const named = (name: string, claimName: string, readOnly?: boolean) => ({
  name,
  persistentVolumeClaim: { claimName, ...(readOnly !== undefined && { readOnly }) },
});

test('a claim resolves to its volume; two references to one volume share a mount, writable if either is', async (t) => {
  const { claim, resolve } = await start(t);
  await claim('data');
  const mount = { specName: 'pv-data', volumeNames: ['v'], readOnly: false, claimKey: 'default/data' };
  const none = { claims: ['default/data'], problem: '', event: '' };
  assert.deepEqual(await resolve(undefined), { mounts: [], claims: [], problem: '', event: '' });
  assert.deepEqual(await resolve([named('v', 'data')]), { ...none, mounts: [mount] });
  for (const [first, second, readOnly] of [
    [true, true, true],
    [true, false, false],
    [false, true, false],
  ] as const) {
    const found = await resolve([named('v', 'data', first), named('w', 'data', second)]);
    assert.deepEqual(found, { ...none, mounts: [{ ...mount, volumeNames: ['v', 'w'], readOnly }] });
  }
});

test('each inline volume is separate, and may not share a directory with another', async (t) => {
  const { claim, resolve } = await start(t);
  await claim('data');
  const csi = { driver: 'd.test', volumeHandle: 'x' };
  const found = await resolve([
    { name: 'i', csi: { ...csi, readOnly: true } },
    { name: 'j', csi },
  ]);
  assert.deepEqual(
    found.mounts.map(({ specName, readOnly, claimKey }) => [specName, readOnly, claimKey]),
    [
      ['i', true, undefined],
      ['j', false, undefined],
    ],
  );
  const clash = await resolve([named('v', 'data'), { name: 'pv-data', csi }]);
  assert.match(clash.problem, /are both called pv-data and would share one directory/);
  assert.match(clash.event, /^Unable to attach or mount volume "pv-data": /);
});

test('a claim that cannot be used yet is waited for, and the pod says why', async (t) => {
  const { kube, claim, resolve } = await start(t);
  await claim('pending', { phase: 'Pending' });
  await claim('lost', { volume: false });
  await claim('other', { ref: { uid: 'another' } });
  await claim('going', { metadata: { finalizers: ['test/held'] } });
  await kube.delete(persistentVolumeClaims, { name: 'going', namespace: 'default' });
  for (const [name, why] of [
    ['absent', /claim default\/absent does not exist; waiting for it/],
    ['pending', /claim default\/pending is not bound/],
    ['lost', /PersistentVolume pv-lost of claim default\/lost does not exist/],
    ['other', /names PersistentVolume pv-other, which belongs to another claim/],
    ['going', /claim default\/going is being deleted/],
  ] as const) {
    const { mounts, problem } = await resolve([named('v', name)]);
    assert.match(problem, why);
    assert.deepEqual(mounts, []);
  }
  const { problem, mounts } = await resolve([named('v', 'going')], { phase: 'Running' });
  assert.deepEqual([problem, mounts.length], ['', 1], 'a pod that runs keeps what it has');
});

test('the claim of an ephemeral volume is the pod’s own', async (t) => {
  const { claim, resolve } = await start(t);
  await claim('p-mine', { owner: 'u-1' });
  await claim('p-theirs', { owner: 'u-2' });
  await claim('p-nobodys');
  const ephemeral = (name: string) => [{ name, ephemeral: {} }] as unknown as PodSpec['volumes'];
  assert.equal((await resolve(ephemeral('mine'))).mounts[0]?.readOnly, false);
  for (const name of ['theirs', 'nobodys']) {
    assert.match((await resolve(ephemeral(name))).problem, /was not made for this pod/);
  }
  assert.equal((await resolve([named('v', 'p-nobodys')])).problem, '');
});

test('a container uses a volume in its own volume mode', async (t) => {
  const { claim, resolve } = await start(t);
  await claim('device', { block: true });
  await claim('files');
  const uses = (use: 'volumeMounts' | 'volumeDevices', name = 'v') => ({ name: 'c', [use]: [{ name }] });
  for (const [claimName, spec, why] of [
    ['device', { containers: [uses('volumeMounts')] }, /raw block device, but container c/],
    ['device', { initContainers: [uses('volumeMounts')] }, /raw block device, but container c/],
    ['device', { containers: [uses('volumeDevices')] }, /^$/],
    ['device', { containers: [uses('volumeMounts', 'w')] }, /^$/],
    ['files', { containers: [uses('volumeDevices')] }, /has a filesystem, but container c/],
    ['files', { containers: [uses('volumeMounts')] }, /^$/],
    ['files', { containers: [uses('volumeDevices', 'w')] }, /^$/],
  ] as const) {
    assert.match((await resolve([named('v', claimName)], { spec })).problem, why);
  }
});

test('other volume types are waited for as by a kubelet, and rejected where nothing would be mounted', async (t) => {
  const { kube, resolve } = await start(t);
  const metadata = { name: 'there', namespace: 'default' };
  await kube.create(configMaps, draft({ metadata, data: { k: 'v' }, binaryData: { b: 'eA==' } }));
  await kube.create(secrets, draft({ metadata, data: { k: 'eA==' } }));
  const table: [object, RegExp][] = [
    [{ emptyDir: {} }, /^$/],
    [{ nfs: { server: 's' } }, /^this node mounts no nfs volumes/],
    [{ configMap: { name: 'there' } }, /^$/],
    [{ configMap: { name: 'absent' } }, /^configmap "absent" not found$/],
    [{ configMap: { name: 'absent', optional: true } }, /^$/],
    [{ configMap: { name: 'there', items: [{ key: 'k' }, { key: 'b' }] } }, /^$/],
    [
      { configMap: { name: 'there', items: [{ key: 'x' }] } },
      /^configmap references non-existent config key: x$/,
    ],
    [{ secret: { secretName: 'there', items: [{ key: 'k' }] } }, /^$/],
    [{ secret: { secretName: 'there', items: [{ key: 'x' }] } }, /^references non-existent secret key: x$/],
    [{ secret: { secretName: 'absent' } }, /^secret "absent" not found$/],
    [{ projected: {} }, /^$/],
    [{ projected: { sources: [{ configMap: { name: 'there' } }, { secret: { name: 'there' } }] } }, /^$/],
    [{ projected: { sources: [{ configMap: { name: 'absent' } }] } }, /^configmap "absent" not found$/],
    [{ projected: { sources: [{ secret: { name: 'absent' } }] } }, /^secret "absent" not found$/],
    [{ projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } }, /^$/],
  ];
  for (const [volume, why] of table) {
    const { problem, event } = await resolve([{ name: 'v', ...volume }] as PodSpec['volumes']);
    assert.match(problem, why, JSON.stringify(volume));
    if (problem) assert.equal(event, `MountVolume.SetUp failed for volume "v" : ${problem}`);
  }
});
