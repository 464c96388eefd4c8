// What is taken out of objects and texts, and what stays.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import { SecretStripper, STRIPPED } from './strip-secrets.ts';

const stripped = (fields: object, options = {}) => {
  const object = { metadata: { name: 'a' }, ...fields } as KubeObject;
  return new SecretStripper(options).object(object) as Record<string, unknown>;
};

test('[SEC-4] parameters, attributes and variables go, unless their name is known', () => {
  const parameters = {
    'csi.storage.k8s.io/fstype': 'ext4',
    'csi.storage.k8s.io/provisioner-secret-name': 'login',
    pool: 'fast',
    adminPassword: 'hunter2',
  };
  assert.deepEqual(stripped({ parameters }).parameters, {
    'csi.storage.k8s.io/fstype': 'ext4',
    'csi.storage.k8s.io/provisioner-secret-name': 'login',
    pool: STRIPPED,
    adminPassword: STRIPPED,
  });
  const kept = stripped({ parameters }, { keepsParameters: true }).parameters as Record<string, string>;
  assert.deepEqual([kept.pool, kept.adminPassword], ['fast', STRIPPED]);
  const spec = {
    csi: { volumeAttributes: { share: 'x' }, nodeStageSecretRef: { name: 'login', namespace: 'vault' } },
    automountServiceAccountToken: false,
    env: [
      { name: 'NODE_ID', value: 'n1' },
      { name: 'OTHER', value: 'x' },
      { name: 'FROM', valueFrom: { secretKeyRef: { name: 'login', key: 'user' } } },
    ],
    args: ['--csi-address=/csi/csi.sock', '--api-token=abcd', '--password', 'efgh', 'driver'],
    tolerations: [{ key: 'node-role.kubernetes.io/control-plane' }],
  };
  assert.deepEqual(stripped({ spec }).spec, {
    csi: { volumeAttributes: { share: STRIPPED }, nodeStageSecretRef: { name: 'login', namespace: 'vault' } },
    automountServiceAccountToken: false,
    env: [
      { name: 'NODE_ID', value: 'n1' },
      { name: 'OTHER', value: STRIPPED },
      { name: 'FROM', valueFrom: { secretKeyRef: { name: 'login', key: 'user' } } },
    ],
    args: ['--csi-address=/csi/csi.sock', `--api-token=${STRIPPED}`, '--password', STRIPPED, 'driver'],
    tolerations: [{ key: 'node-role.kubernetes.io/control-plane' }],
  });
});

test('[SEC-4] arguments lose the values of secrets and of parameters, also in a command line within one', () => {
  const given = [
    '--nodes=2',
    '--class-parameters=pool=fast,adminPassword=hunter2',
    '--class-parameters',
    'share=x',
    '--exec=driver --password hunter3 --token=abcd --zone z',
    '--mutable-parameters=a,b',
    'plain',
  ];
  assert.deepEqual(new SecretStripper().arguments(given), [
    '--nodes=2',
    `--class-parameters=pool=${STRIPPED},adminPassword=${STRIPPED}`,
    '--class-parameters',
    `share=${STRIPPED}`,
    `--exec=driver --password ${STRIPPED} --token=${STRIPPED} --zone z`,
    '--mutable-parameters=a,b',
    'plain',
  ]);
});

test('[SEC-4] annotations of others lose their values, and the last applied manifest goes', () => {
  const annotations = {
    'volume.kubernetes.io/selected-node': 'n1',
    'csi.berth/provisioning': 'x',
    'example.com/note': 'x',
    'kubectl.kubernetes.io/last-applied-configuration': '{"parameters":{"password":"hunter2"}}',
  };
  const stripper = new SecretStripper();
  const object = stripper.object({ metadata: { name: 'a', annotations, managedFields: [{}] } } as never);
  assert.deepEqual((object as KubeObject).metadata, {
    name: 'a',
    annotations: {
      'volume.kubernetes.io/selected-node': 'n1',
      'csi.berth/provisioning': 'x',
      'example.com/note': STRIPPED,
    },
  });
  assert.equal(
    stripper.finish('login hunter2 failed, aHVudGVyMg=='),
    `login ${STRIPPED} failed, ${STRIPPED}`,
  );
});

const texts: [string, string][] = [
  ['password=hunter2 next', `password=${STRIPPED} next`],
  ['DB_PASSWORD: hunter2', `DB_PASSWORD: ${STRIPPED}`],
  ['{"token":"abc.def","name":"x"}', `{"token":"${STRIPPED}","name":"x"}`],
  ['secret: not found', 'secret: not found'],
  ['secretName=login', 'secretName=login'],
  ['Authorization: Bearer abcdefghijk', `Authorization: Bearer ${STRIPPED}`],
  ['nfs://user:hunter2@host/path', `nfs://user:${STRIPPED}@host/path`],
  ['a eyJhbGciOiJI.eyJzdWIiOiIx.c2ln b', `a ${STRIPPED} b`],
  ['-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\n', `${STRIPPED}\n`],
  [
    'CreateVolume failed: RESOURCE_EXHAUSTED: pool key is full',
    'CreateVolume failed: RESOURCE_EXHAUSTED: pool key is full',
  ],
];
for (const [given, expected] of texts) {
  test(`[SEC-4] the text ${JSON.stringify(given.slice(0, 30))}`, () =>
    assert.equal(new SecretStripper().text(given), expected));
}
