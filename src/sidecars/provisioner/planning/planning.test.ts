import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VolumeSchema } from '../../../csi/generated/csi/v1/csi_pb.ts';
import { create } from '../../../wire/protobuf/create.ts';
import type { MessageInitShape } from '../../../wire/protobuf/descriptor.ts';
import { checkVolume } from './check-volume.ts';
import { ClaimProblem } from './claim-problem.ts';
import { classParameters } from './class-parameters.ts';
import { type SecretKind, secretReference } from './secret-references.ts';
import { volumeNameFor } from './volume-name.ts';

const token = (name: string) => `\${${name}}`;
const values = {
  volumeName: 'pvc-1',
  claimName: 'data',
  claimNamespace: 'team',
  claimAnnotations: { 'example.com/secret': 'mine' },
};
const keys = (kind: string, name: string, namespace: string) => ({
  [`csi.storage.k8s.io/${kind}secret-name`]: name,
  [`csi.storage.k8s.io/${kind}secret-namespace`]: namespace,
});

test('references to secrets, with their templates and both spellings', () => {
  const table: {
    name: string;
    kind?: SecretKind;
    parameters: Record<string, string>;
    then: { name: string; namespace: string } | undefined | RegExp;
  }[] = [
    { name: 'none', parameters: { a: 'b' }, then: undefined },
    { name: 'plain', parameters: keys('provisioner-', 'n', 'ns'), then: { name: 'n', namespace: 'ns' } },
    {
      name: 'every token of a name',
      parameters: keys(
        'provisioner-',
        `${token('pv.name')}-${token('pvc.namespace')}-${token('pvc.name')}-${token("pvc.annotations['example.com/secret']")}`,
        token('pvc.namespace'),
      ),
      then: { name: 'pvc-1-team-data-mine', namespace: 'team' },
    },
    {
      name: 'of another kind',
      kind: 'node-stage',
      parameters: keys('provisioner-', 'n', 'ns'),
      then: undefined,
    },
    {
      name: 'the default',
      kind: 'node-stage',
      parameters: { ...keys('provisioner-', 'n', 'ns'), ...keys('', 'all', 'ns') },
      then: { name: 'all', namespace: 'ns' },
    },
    {
      name: 'the old spelling',
      kind: 'node-publish',
      parameters: { csiNodePublishSecretName: 'old', csiNodePublishSecretNamespace: 'ns' },
      then: { name: 'old', namespace: 'ns' },
    },
    {
      name: 'name in the old spelling, namespace in the new',
      parameters: {
        csiProvisionerSecretName: 'old',
        'csi.storage.k8s.io/provisioner-secret-namespace': 'ns',
      },
      then: { name: 'old', namespace: 'ns' },
    },
    {
      name: "name in both spellings: today's wins",
      parameters: { csiProvisionerSecretName: 'old', ...keys('provisioner-', 'new', 'ns') },
      then: { name: 'new', namespace: 'ns' },
    },
    {
      name: 'namespace in both spellings, and no name',
      parameters: {
        csiProvisionerSecretNamespace: 'ns',
        'csi.storage.k8s.io/provisioner-secret-namespace': 'ns',
      },
      then: /half of a secret reference/,
    },
    {
      name: 'half, with a default that is whole',
      parameters: { csiProvisionerSecretName: 'old', ...keys('', 'all', 'ns') },
      then: /half of a secret reference: parameter .* is missing/,
    },
    {
      name: 'empty half',
      parameters: keys('provisioner-', 'n', ''),
      then: /secret-namespace is missing or empty/,
    },
    { name: 'unknown token', parameters: keys('provisioner-', token('pvc.uid'), 'ns'), then: /pvc\.uid/ },
    { name: 'bare token', parameters: keys('provisioner-', '$HOME', 'ns'), then: /HOME/ },
    {
      name: "a user's word in a namespace",
      parameters: keys('provisioner-', 'n', token("pvc.annotations['example.com/secret']")),
      then: /has no value here/,
    },
    { name: 'bad name', parameters: keys('provisioner-', 'No_Name', 'ns'), then: /not a valid secret name/ },
    { name: 'bad namespace', parameters: keys('provisioner-', 'n', 'a.b'), then: /not a valid namespace/ },
  ];
  for (const { name, kind = 'provisioner', parameters, then } of table) {
    const ask = () => secretReference(kind, parameters, values);
    if (then instanceof RegExp) {
      assert.throws(ask, (error) => error instanceof ClaimProblem && then.test(error.message), name);
    } else assert.deepEqual(ask(), then, name);
  }
});

test('parameters for the driver and for the sidecars', () => {
  const table: { name: string; parameters: Record<string, string>; driver: object; fsType: string }[] = [
    { name: 'none', parameters: {}, driver: {}, fsType: 'ext4' },
    {
      name: "today's",
      parameters: { 'csi.storage.k8s.io/fstype': 'xfs', a: 'b' },
      driver: { a: 'b' },
      fsType: 'xfs',
    },
    { name: 'old', parameters: { fsType: 'xfs' }, driver: { fsType: 'xfs' }, fsType: 'xfs' },
    { name: 'secrets', parameters: keys('node-stage-', 'n', 'ns'), driver: {}, fsType: 'ext4' },
  ];
  for (const { name, parameters, driver, fsType } of table) {
    assert.deepEqual(classParameters(parameters, 'ext4'), { driver, fsType }, name);
  }
});

test("the volume's name is the claim's UID, or the beginning of it", () => {
  const uid = '1234abcd-0000-4000-8000-00000000beef';
  assert.equal(volumeNameFor(uid, { volumeNamePrefix: 'pvc', volumeNameUuidLength: -1 }), `pvc-${uid}`);
  assert.equal(volumeNameFor(uid, { volumeNamePrefix: 'v', volumeNameUuidLength: 10 }), 'v-1234abcd00');
});

test("whether a driver's answer is what was asked for", () => {
  const plan = { capacityBytes: 100n, source: undefined };
  const fromSnapshot = { capacityBytes: 100n, source: { kind: 'snapshot', id: 's1' } as const };
  const snapshot = (snapshotId: string) => ({
    contentSource: { type: { case: 'snapshot' as const, value: { snapshotId } } },
  });
  const table: {
    name: string;
    volume: MessageInitShape<typeof VolumeSchema> | undefined;
    plan?: Parameters<typeof checkVolume>[1];
    owner?: string;
    then: ReturnType<typeof checkVolume>['kind'];
  }[] = [
    { name: 'as asked', volume: { volumeId: 'v', capacityBytes: 100n }, then: 'accepted' },
    { name: 'larger', volume: { volumeId: 'v', capacityBytes: 200n }, then: 'accepted' },
    { name: 'size not said', volume: { volumeId: 'v' }, then: 'accepted' },
    { name: 'too small', volume: { volumeId: 'v', capacityBytes: 99n }, then: 'useless' },
    { name: 'no volume', volume: undefined, then: 'nameless' },
    { name: 'no ID', volume: { capacityBytes: 100n }, then: 'nameless' },
    { name: "another's", volume: { volumeId: 'v' }, owner: 'pv-2', then: 'not-ours' },
    {
      name: "another's and too small",
      volume: { volumeId: 'v', capacityBytes: 1n },
      owner: 'pv-2',
      then: 'not-ours',
    },
    {
      name: 'source echoed',
      volume: { volumeId: 'v', ...snapshot('s1') },
      plan: fromSnapshot,
      then: 'accepted',
    },
    { name: 'source forgotten', volume: { volumeId: 'v' }, plan: fromSnapshot, then: 'useless' },
    {
      name: 'another spelling of the source',
      volume: { volumeId: 'v', ...snapshot('s2') },
      plan: fromSnapshot,
      then: 'accepted',
    },
  ];
  for (const { name, volume, plan: asked = plan, owner, then } of table) {
    const answer = volume && create(VolumeSchema, volume);
    assert.equal(checkVolume(answer, asked, () => owner).kind, then, name);
  }
});
