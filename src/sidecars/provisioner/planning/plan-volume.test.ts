import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VolumeSchema } from '../../../csi/generated/csi/v1/csi_pb.ts';
import { parseDriverName, parseVolumeHandle } from '../../../csi/names/driver-name.ts';
import { create } from '../../../wire/protobuf/create.ts';
import { DEFAULT_PROVISIONER_FLAGS } from '../provisioner-flags.ts';
import { ClaimProblem } from './claim-problem.ts';
import { persistentVolume } from './persistent-volume.ts';
import { type PlanInput, planVolume } from './plan-volume.ts';

interface Given {
  spec?: object;
  metadata?: object;
  storageClass?: object;
  flags?: object;
  input?: Partial<PlanInput>;
}

const claimOf = ({ spec, metadata }: Given) => ({
  metadata: { name: 'c', namespace: 'ns', uid: 'u', resourceVersion: '1', ...metadata },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
});
const plan = (given: Given = {}) =>
  planVolume(
    {
      claim: claimOf(given),
      storageClass: { metadata: { name: 'fast' }, provisioner: 'd', ...given.storageClass },
      mutableParameters: undefined,
      source: undefined,
      topology: undefined,
      ...given.input,
    } as unknown as PlanInput,
    { flags: { ...DEFAULT_PROVISIONER_FLAGS, ...given.flags }, driver: { controller: new Set() } },
  );
const sized = (storage?: string): Given => ({ spec: { resources: { requests: { storage } } } });

test('[PROV-1] sizes that CSI can express are planned', () => {
  assert.equal(plan().capacityBytes, 1n << 30n);
  assert.equal(plan(sized('1')).capacityBytes, 1n);
  assert.equal(plan(sized('9223372036854775807')).capacityBytes, (1n << 63n) - 1n);
});

const refused: { name: string; given: Given; says: RegExp }[] = [
  { name: 'no size', given: sized(undefined), says: /requests no storage size/ },
  { name: 'nothing', given: sized('0'), says: /requests 0, which is not a valid size/ },
  { name: 'more than CSI can express', given: sized('9223372036854775808'), says: /not a valid size/ },
  { name: 'a selector', given: { spec: { selector: {} } }, says: /a claim with a selector/ },
  { name: 'no access mode', given: { spec: { accessModes: [] } }, says: /no access mode/ },
  { name: 'an access mode that does not exist', given: { spec: { accessModes: ['Odd'] } }, says: /Odd/ },
];
for (const { name, given, says } of refused) {
  test(`[PROV-6] a claim is refused until a user changes it: ${name}`, () => {
    assert.throws(
      () => plan(given),
      (error) => {
        assert.ok(error instanceof ClaimProblem);
        assert.equal(error.slow, true);
        assert.match(error.message, says);
        return true;
      },
    );
  });
}

const readOnly: [modes: string[], isOn: boolean, then: boolean][] = [
  [['ReadOnlyMany'], true, true],
  [['ReadOnlyMany'], false, false],
  [['ReadOnlyMany', 'ReadWriteOnce'], true, false],
  [['ReadWriteOnce'], true, false],
];
for (const [accessModes, controllerPublishReadonly, then] of readOnly) {
  test(`[PROV-2] ${accessModes} with --controller-publish-readonly=${controllerPublishReadonly}: ${then}`, () => {
    assert.equal(plan({ spec: { accessModes }, flags: { controllerPublishReadonly } }).readOnly, then);
  });
}

test('[PROV-1] names go to the driver when they are asked for', () => {
  const parameters = { tier: 'gold' };
  assert.deepEqual(plan({ storageClass: { parameters } }).parameters, parameters);
  assert.deepEqual(plan({ storageClass: { parameters }, flags: { extraCreateMetadata: true } }).parameters, {
    tier: 'gold',
    'csi.storage.k8s.io/pvc/name': 'c',
    'csi.storage.k8s.io/pvc/namespace': 'ns',
    'csi.storage.k8s.io/pv/name': 'pvc-u',
  });
});

test('[PROV-5] two plans have the same digest when they ask for the same volume', () => {
  const { digest } = plan();
  const same = [
    plan(),
    plan({ metadata: { labels: { a: 'b' } } }),
    plan({ spec: { volumeMode: 'Filesystem' } }),
  ];
  for (const each of same) assert.equal(each.digest, digest);
  const ab = plan({ storageClass: { parameters: { a: '1', b: '2' } } }).digest;
  assert.equal(plan({ storageClass: { parameters: { b: '2', a: '1' } } }).digest, ab, 'in any order');
  const others = [
    plan(sized('2Gi')),
    plan({ spec: { accessModes: ['ReadWriteMany'] } }),
    plan({ spec: { volumeMode: 'Block' } }),
    plan({ storageClass: { mountOptions: ['noatime'] } }),
    plan({ storageClass: { parameters: { a: '1' } } }),
    plan({ input: { mutableParameters: { a: '1' } } }),
    plan({ input: { source: { kind: 'snapshot', id: 's' } } }),
    plan({ metadata: { annotations: { 'volume.kubernetes.io/selected-node': 'n' } } }),
  ].map((each) => each.digest);
  assert.equal(new Set([digest, ...others]).size, others.length + 1);
});

test('[PROV-2] the PersistentVolume says what was planned and made, and no more', () => {
  const made = (given: Given, volume: object = {}, withTopology = true) => {
    const facts = {
      driver: parseDriverName('d'),
      claim: claimOf(given),
      plan: plan(given),
      volume: create(VolumeSchema, { volumeId: 'h', ...volume }),
      handle: parseVolumeHandle('h'),
      capacityBytes: 1n << 30n,
      withTopology,
    };
    return persistentVolume(facts as never) as {
      metadata: { annotations: object; finalizers?: string[] };
      spec: Record<string, unknown> & { csi: object };
    };
  };
  const bare = made({ storageClass: { reclaimPolicy: 'Retain' } });
  assert.equal('finalizers' in bare.metadata, false);
  assert.deepEqual(bare.metadata.annotations, {
    'pv.kubernetes.io/provisioned-by': 'd',
    'volume.kubernetes.io/provisioner-deletion-secret-name': '',
    'volume.kubernetes.io/provisioner-deletion-secret-namespace': '',
  });
  assert.deepEqual(Object.keys(bare.spec).toSorted(), [
    'accessModes',
    'capacity',
    'claimRef',
    'csi',
    'persistentVolumeReclaimPolicy',
    'storageClassName',
  ]);
  assert.deepEqual(bare.spec.csi, { driver: 'd', volumeHandle: 'h' });
  const secret = (kind: string) => ({
    [`csi.storage.k8s.io/${kind}-secret-name`]: kind,
    [`csi.storage.k8s.io/${kind}-secret-namespace`]: 'ns',
  });
  const rich = made(
    {
      spec: { volumeMode: 'Filesystem', volumeAttributesClassName: 'gold', accessModes: ['ReadOnlyMany'] },
      flags: { controllerPublishReadonly: true },
      storageClass: {
        mountOptions: ['noatime'],
        parameters: {
          'csi.storage.k8s.io/fstype': 'xfs',
          ...secret('controller-modify'),
          ...secret('node-stage'),
        },
      },
    },
    { volumeContext: { a: 'b' }, accessibleTopology: [{ segments: { zone: 'a' } }] },
  );
  assert.ok(rich.metadata.finalizers?.length);
  assert.equal(Object.keys(rich.metadata.annotations).length, 5);
  const { mountOptions, volumeMode, volumeAttributesClassName, nodeAffinity } = rich.spec;
  assert.deepEqual(
    [mountOptions, volumeMode, volumeAttributesClassName],
    [['noatime'], 'Filesystem', 'gold'],
  );
  assert.ok(nodeAffinity);
  assert.deepEqual(rich.spec.csi, {
    driver: 'd',
    volumeHandle: 'h',
    fsType: 'xfs',
    readOnly: true,
    volumeAttributes: { a: 'b' },
    nodeStageSecretRef: { name: 'node-stage', namespace: 'ns' },
  });
  const topology = { accessibleTopology: [{ segments: { zone: 'a' } }] };
  assert.equal('nodeAffinity' in made({}, topology, false).spec, false);
});
