import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/kinds.ts';
import type { MountableVolume } from './mountable-volume.ts';
import { publishAttributes, stageAttributes } from './publish-attributes.ts';

const NEW = 'csi.storage.k8s.io/';
const OLD = 'csi.kubernetes.io/';
const forged = {
  [`${NEW}pod.name`]: 'forged',
  [`${OLD}pod.uid`]: 'forged',
  [`${NEW}ephemeral`]: 'forged',
  [`${NEW}serviceAccount.tokens`]: 'forged',
};
const volume = (lifecycle: MountableVolume['lifecycle'] = 'Persistent') =>
  ({ lifecycle, attributes: { a: 'b', [`${NEW}pvc/name`]: 'c', ...forged } }) as unknown as MountableVolume;
const pod = (metadata: object, spec: object) => ({ metadata, spec }) as unknown as Pod;
const full = pod({ name: 'p', namespace: 'ns', uid: 'u' }, { serviceAccountName: 'sa' });
const own = { a: 'b', [`${NEW}pvc/name`]: 'c' };

const infoOf = (values: Record<string, string>) =>
  Object.fromEntries(
    [NEW, OLD].flatMap((at) => Object.entries(values).map(([key, value]) => [at + key, value])),
  );

test('no pod can impersonate another: only the node sets reserved attributes', () => {
  const info = infoOf({
    'pod.name': 'p',
    'pod.namespace': 'ns',
    'pod.uid': 'u',
    'serviceAccount.name': 'sa',
  });
  const bare = infoOf({ 'pod.name': 'p', 'pod.namespace': '', 'pod.uid': 'u', 'serviceAccount.name': '' });
  const table: [string, Record<string, string>, Record<string, string>][] = [
    ['staged', stageAttributes(volume()), own],
    ['nothing asked for', publishAttributes(volume(), full, { podInfo: false }), own],
    [
      'pod information',
      publishAttributes(volume(), full, { podInfo: true }),
      { ...own, ...info, [`${NEW}ephemeral`]: 'false' },
    ],
    [
      'of a pod without namespace and account',
      publishAttributes(volume(), pod({ name: 'p', uid: 'u' }, {}), { podInfo: true }),
      { ...own, ...bare, [`${NEW}ephemeral`]: 'false' },
    ],
    [
      'ephemeral',
      publishAttributes(volume('Ephemeral'), full, { podInfo: false }),
      { ...own, [`${NEW}ephemeral`]: 'true' },
    ],
    [
      'ephemeral, with pod information',
      publishAttributes(volume('Ephemeral'), full, { podInfo: true }),
      { ...own, ...info, [`${NEW}ephemeral`]: 'true' },
    ],
    [
      'tokens',
      publishAttributes(volume(), full, { podInfo: false, tokens: '{}' }),
      { ...own, [`${NEW}serviceAccount.tokens`]: '{}' },
    ],
  ];
  for (const [name, given, expected] of table) assert.deepEqual(given, expected, name);
});
