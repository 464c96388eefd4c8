import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { builtinKinds } from '../kinds/index.ts';
import { pruneUnknownFields } from './unknown-fields.ts';

type Body = Record<string, unknown>;
const kindNamed = (name: string) => {
  const kind = builtinKinds.find((each) => each.kind === name);
  assert.ok(kind);
  return kind;
};
const object = (kind: string, body: Body, metadata: Body = {}): KubeObject & Body =>
  ({ apiVersion: 'v1', kind, metadata: { name: 'x', ...metadata }, ...body }) as unknown as KubeObject & Body;

test('unknown fields are named with their paths, and removed', () => {
  const pod = object(
    'Pod',
    { spec: { containers: [{ name: 'c', foo: 1, env: [{ name: 'A', bar: 2 }] }], nope: true }, odd: 1 },
    { selfish: 1, labels: { any: 'x' } },
  );
  assert.deepEqual(pruneUnknownFields(pod, kindNamed('Pod')), [
    'metadata.selfish',
    'spec.containers[0].foo',
    'spec.containers[0].env[0].bar',
    'spec.nope',
    'odd',
  ]);
  assert.deepEqual(pod.spec, { containers: [{ name: 'c', env: [{ name: 'A' }], resources: {} }] });
});

test('fields of the volume designs are known', () => {
  const pod = object('Pod', {
    spec: {
      volumes: [{ name: 'v', csi: { driver: 'd', volumeHandle: 'h', nodeStageSecretRef: { name: 's' } } }],
    },
  });
  assert.deepEqual(pruneUnknownFields(pod, kindNamed('Pod')), []);
  const source = { namespace: 'n', volumeSource: { csi: { driver: 'd', volumeHandle: 'h' } } };
  const attachment = object('VolumeAttachment', {
    spec: { attacher: 'a', nodeName: 'n', source: { inlineVolumeSource: source } },
    status: { attachError: { errorCode: 8 } },
  });
  assert.deepEqual(pruneUnknownFields(attachment, kindNamed('VolumeAttachment')), []);
  const driver = object('CSIDriver', {
    spec: { lifecycle: 'ephemeral', nodeAllocatableUpdatePeriodSeconds: 10 },
  });
  assert.deepEqual(pruneUnknownFields(driver, kindNamed('CSIDriver')), []);
  const policy = object('PodSecurityPolicy', { spec: { allowedCSIDrivers: [{ name: 'd' }] } });
  assert.deepEqual(pruneUnknownFields(policy, kindNamed('PodSecurityPolicy')), []);
});

test('nulls are removed and quantities canonicalized', () => {
  const claim = object(
    'PersistentVolumeClaim',
    { spec: { storageClassName: null, resources: { requests: { storage: '1024Mi', cpu: 1 } } } },
    { creationTimestamp: null },
  );
  assert.deepEqual(pruneUnknownFields(claim, kindNamed('PersistentVolumeClaim')), []);
  assert.deepEqual(claim.spec, { resources: { requests: { storage: '1Gi', cpu: '1' } } });
  assert.equal('creationTimestamp' in claim.metadata, false);
});

const wrong: [string, Body, RegExp][] = [
  [
    'text for a number',
    { spec: { terminationGracePeriodSeconds: '30' } },
    /Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field Pod\.spec\.terminationGracePeriodSeconds of type int64/,
  ],
  ['a number for text', { spec: { hostname: 1 } }, /cannot unmarshal number .* of type string/],
  [
    'a map for a list',
    { spec: { containers: {} } },
    /cannot unmarshal object into Go struct field Pod\.spec\.containers/,
  ],
  ['a fraction for an integer', { spec: { terminationGracePeriodSeconds: 1.5 } }, /of type int64/],
  [
    'a malformed quantity',
    { spec: { containers: [{ name: 'c', resources: { limits: { cpu: 'lots' } } }] } },
    /quantities must match the regular expression/,
  ],
  ['a malformed time', { status: { startTime: 'yesterday' } }, /parsing time "yesterday"/],
];
for (const [name, body, expected] of wrong) {
  test(`${name} is refused as undecodable`, () =>
    assert.throws(
      () => pruneUnknownFields(object('Pod', body), kindNamed('Pod')),
      (error) => error instanceof KubeError && error.code === 400 && expected.test(error.message),
    ));
}
