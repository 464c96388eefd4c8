import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodVolume, ServiceAccount } from '../../api/kinds.ts';
import { addApiAccess, isApiAccess } from './api-access.ts';

const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
const podOf = (spec: object, uid = 'u') =>
  ({ metadata: { name: 'p', uid }, spec: { containers: [{ name: 'c' }], ...spec } }) as unknown as Pod;
const account = (automountServiceAccountToken?: boolean) =>
  ({ metadata: { name: 'sa' }, automountServiceAccountToken }) as unknown as ServiceAccount;

const wanted: [ofPod: boolean | undefined, ofAccount: boolean | undefined, isAdded: boolean][] = [
  [undefined, undefined, true],
  [undefined, false, false],
  [undefined, true, true],
  [false, true, false],
  [true, false, true],
];
for (const [ofPod, ofAccount, isAdded] of wanted) {
  test(`a pod reaches the API, where it says ${ofPod} and its service account ${ofAccount}: ${isAdded}`, () => {
    const pod = podOf({ automountServiceAccountToken: ofPod });
    addApiAccess(pod, account(ofAccount));
    assert.equal(pod.spec.volumes?.length ?? 0, isAdded ? 1 : 0);
    assert.equal(pod.spec.containers[0]?.volumeMounts?.length ?? 0, isAdded ? 1 : 0);
  });
}

test('every container gets the mount after its own, except where something is mounted there', () => {
  const own = { name: 'mine', mountPath: '/data' };
  const there = { name: 'mine', mountPath: MOUNT_PATH };
  const pod = podOf({
    containers: [
      { name: 'a', volumeMounts: [own] },
      { name: 'b', volumeMounts: [there] },
    ],
    initContainers: [{ name: 'i' }],
    volumes: [{ name: 'mine', emptyDir: {} }],
  });
  addApiAccess(pod, account());
  const [mine, added] = pod.spec.volumes ?? [];
  assert.equal(mine?.name, 'mine');
  assert.match(added?.name ?? '', /^kube-api-access-[0-9a-f]{5}$/);
  const mount = { name: added?.name, mountPath: MOUNT_PATH, readOnly: true };
  assert.deepEqual(
    [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].map(({ volumeMounts }) => volumeMounts),
    [[own, mount], [there], [mount]],
  );
  assert.deepEqual(added?.projected, {
    defaultMode: 0o644,
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
        },
      },
    ],
  });
});

test('no volume is added that no container mounts, or that is there already', () => {
  const mounted = [{ name: 'c', volumeMounts: [{ name: 'mine', mountPath: MOUNT_PATH }] }];
  const without = podOf({ containers: mounted });
  addApiAccess(without, account());
  assert.equal(without.spec.volumes, undefined);
  const volumes = [{ name: 'kube-api-access-abcde', emptyDir: {} }];
  const present = podOf({ volumes });
  addApiAccess(present, account());
  assert.deepEqual(present.spec.volumes, volumes);
  assert.equal(present.spec.containers[0]?.volumeMounts?.[0]?.name, 'kube-api-access-abcde');
});

test("the volume's name comes from the pod's UID", () => {
  const nameFor = (uid: string) => {
    const pod = podOf({}, uid);
    addApiAccess(pod, account());
    return pod.spec.volumes?.[0]?.name;
  };
  assert.equal(nameFor('one'), nameFor('one'));
  assert.notEqual(nameFor('one'), nameFor('two'));
});

const token = { serviceAccountToken: { path: 'token' } };
const forOthers = { serviceAccountToken: { path: 'token', audience: 'vault' } };
const ca = { configMap: { name: 'kube-root-ca.crt' } };
const volumes: [what: string, sources: object[] | undefined, isAccess: boolean][] = [
  ['no projection', undefined, false],
  ['nothing', [], false],
  ['a token', [token], true],
  ['a token, the CA and the namespace', [token, ca, { downwardAPI: {} }], true],
  ['no token', [ca], false],
  ['a token for others', [forOthers], false],
  ['a token, and one for others', [token, forOthers], false],
  ['a secret, too', [token, { secret: { name: 's' } }], false],
  ['another configuration, too', [token, { configMap: { name: 'mine' } }], false],
  ['trusted certificates, too', [token, { clusterTrustBundle: { path: 'x' } }], false],
];
for (const [what, sources, isAccess] of volumes) {
  test(`a volume of ${what} is nothing but access to the API: ${isAccess}`, () => {
    const volume = { name: 'v', ...(sources && { projected: { sources } }) } as unknown as PodVolume;
    assert.equal(isApiAccess(volume), isAccess);
  });
}
