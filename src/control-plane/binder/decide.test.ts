import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../api/kinds.ts';
import { claim as claimDraft, volume as volumeDraft } from '../testing/objects.ts';
import { claimBoundTo, claimStatusBoundTo, volumeBoundTo, volumeUnbound } from './binding.ts';
import { type ClaimSnapshot, decideClaim } from './decide-claim.ts';
import { decideVolume } from './decide-volume.ts';

const stamp = { resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z' };
const COMPLETED = { 'pv.kubernetes.io/bind-completed': 'yes' };
const BY_CONTROLLER = { 'pv.kubernetes.io/bound-by-controller': 'yes' };
const OURS = { name: 'data', namespace: 'default', uid: 'claim-uid' };
const THEIRS = { name: 'other', namespace: 'default', uid: 'other-uid' };
const EARLIER = { ...OURS, uid: 'earlier-uid' };
const RESERVED = { name: 'data', namespace: 'default' };

function claim(
  spec: Partial<PersistentVolumeClaim['spec']> = {},
  annotations: Record<string, string> = {},
  status: PersistentVolumeClaim['status'] = { phase: 'Pending' },
): PersistentVolumeClaim {
  const draft = claimDraft('data', spec);
  const metadata = { name: 'data', namespace: 'default', uid: 'claim-uid', ...stamp, annotations };
  return { ...draft, apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, status };
}

function volume(
  spec: Partial<PersistentVolume['spec']> = {},
  annotations: Record<string, string> = {},
  phase = 'Available',
): PersistentVolume {
  const draft = volumeDraft('v', spec);
  const metadata = { name: 'v', uid: 'volume-uid', ...stamp, annotations };
  return { ...draft, apiVersion: 'v1', kind: 'PersistentVolume', metadata, status: { phase } };
}

function storageClass(change: Partial<StorageClass> = {}): StorageClass {
  const metadata = { name: 'manual', uid: 'class-uid', ...stamp };
  const type = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass' };
  return { ...type, metadata, provisioner: 'driver.example', ...change };
}

const delayed = storageClass({ volumeBindingMode: 'WaitForFirstConsumer' });
const selected = { 'volume.kubernetes.io/selected-node': 'n' };
const asked = {
  'volume.kubernetes.io/storage-provisioner': 'driver.example',
  'volume.beta.kubernetes.io/storage-provisioner': 'driver.example',
};

/** A step as a short text: `bind v`, `phase Lost`, `Warning ClaimLost`. */
type AnyStep = ReturnType<typeof decideClaim>[number] | ReturnType<typeof decideVolume>[number];
function shown(step: AnyStep): string {
  switch (step.do) {
    case 'bind':
      return `bind ${step.volume.metadata.name}`;
    case 'assign-class':
      return `class ${step.className}`;
    case 'ask-provisioner':
      return `ask ${step.provisioner}`;
    case 'set-phase':
      return `phase ${step.phase}`;
    case 'event':
      return `${step.type} ${step.reason}`;
    case 'claim-event':
      return `claim: ${step.type} ${step.reason}`;
    default:
      return step.do;
  }
}

const claims: { name: string; given: Partial<ClaimSnapshot>; then: string[] }[] = [
  { name: 'a volume fits', given: { match: volume() }, then: ['bind v'] },
  {
    name: 'none fits and there is no class',
    given: { claim: claim({ storageClassName: '' }) },
    then: ['Normal FailedBinding', 'phase Pending'],
  },
  {
    name: 'made before there was a default class',
    given: { claim: claim(), defaultClass: storageClass() },
    then: ['class manual'],
  },
  {
    name: 'a volume fits better than the default class',
    given: { match: volume(), defaultClass: storageClass() },
    then: ['bind v'],
  },
  { name: 'its class is gone', given: {}, then: ['Warning ProvisioningFailed', 'phase Pending'] },
  {
    name: 'to be made',
    given: { storageClass: storageClass() },
    then: ['ask driver.example', 'Normal ExternalProvisioning', 'phase Pending'],
  },
  {
    name: 'asked for already',
    given: { claim: claim({}, asked), storageClass: storageClass() },
    then: ['Normal ExternalProvisioning', 'phase Pending'],
  },
  {
    name: 'asked for under one name only',
    given: {
      claim: claim({}, { 'volume.kubernetes.io/storage-provisioner': 'driver.example' }),
      storageClass: storageClass(),
    },
    then: ['ask driver.example', 'Normal ExternalProvisioning', 'phase Pending'],
  },
  {
    name: 'the class has another provisioner now',
    given: { claim: claim({}, asked), storageClass: storageClass({ provisioner: 'new.example' }) },
    then: ['ask new.example', 'Normal ExternalProvisioning', 'phase Pending'],
  },
  {
    name: 'volumes of the class are made by hand',
    given: { storageClass: storageClass({ provisioner: 'kubernetes.io/no-provisioner' }) },
    then: ['Normal FailedBinding', 'phase Pending'],
  },
  {
    name: 'delayed, without a pod',
    given: { storageClass: delayed },
    then: ['Normal WaitForFirstConsumer', 'phase Pending'],
  },
  {
    name: 'delayed, with a pod that waits',
    given: { storageClass: delayed, waitingPods: ['p'] },
    then: ['Normal WaitForPodScheduled', 'phase Pending'],
  },
  {
    name: 'delayed, and the scheduler has chosen',
    given: { claim: claim({}, selected), storageClass: delayed },
    then: ['ask driver.example', 'Normal ExternalProvisioning', 'phase Pending'],
  },
  {
    name: 'delayed, but one is its own',
    given: { storageClass: delayed, match: volume() },
    then: ['bind v'],
  },
  {
    name: 'asks for a volume that is not there',
    given: { claim: claim({ volumeName: 'v' }) },
    then: ['phase Pending'],
  },
  {
    name: 'asks for a free volume',
    given: { claim: claim({ volumeName: 'v' }), named: volume() },
    then: ['bind v'],
  },
  {
    name: 'asks for one that is too small',
    given: { claim: claim({ volumeName: 'v' }), named: volume({ capacity: { storage: '1Mi' } }) },
    then: ['Warning VolumeMismatch', 'phase Pending'],
  },
  {
    name: 'asks for one that was bound to it half-way',
    given: { claim: claim({ volumeName: 'v' }), named: volume({ claimRef: OURS }) },
    then: ['bind v'],
  },
  {
    name: 'asks for one that is reserved for it',
    given: { claim: claim({ volumeName: 'v' }), named: volume({ claimRef: RESERVED }) },
    then: ['bind v'],
  },
  {
    name: "asks for somebody else's",
    given: { claim: claim({ volumeName: 'v' }), named: volume({ claimRef: THEIRS }) },
    then: ['Warning FailedBinding', 'phase Pending'],
  },
  {
    name: 'asks for one that an earlier claim of its name had',
    given: { claim: claim({ volumeName: 'v' }), named: volume({ claimRef: EARLIER }) },
    then: ['Warning FailedBinding', 'phase Pending'],
  },
  {
    name: 'bound, all well',
    given: { claim: claim({ volumeName: 'v' }, COMPLETED), named: volume({ claimRef: OURS }) },
    then: ['bind v'],
  },
  {
    name: 'bound, and someone cleared the volume',
    given: { claim: claim({ volumeName: 'v' }, COMPLETED), named: volume() },
    then: ['bind v'],
  },
  {
    name: 'bound, and the volume is gone',
    given: { claim: claim({ volumeName: 'v' }, COMPLETED) },
    then: ['Warning ClaimLost', 'phase Lost'],
  },
  {
    name: 'lost already: nothing is said twice',
    given: { claim: claim({ volumeName: 'v' }, COMPLETED, { phase: 'Lost' }) },
    then: [],
  },
  {
    name: 'bound, and it forgot to what',
    given: { claim: claim({}, COMPLETED) },
    then: ['Warning ClaimLost', 'phase Lost'],
  },
  {
    name: 'bound to a volume that is bound to another',
    given: { claim: claim({ volumeName: 'v' }, COMPLETED), named: volume({ claimRef: THEIRS }) },
    then: ['Warning ClaimMisbound', 'phase Lost'],
  },
];

for (const { name, given, then } of claims) {
  test(`claim: ${name}`, () => {
    const empty = {
      claim: claim(),
      named: undefined,
      match: undefined,
      storageClass: undefined,
      defaultClass: undefined,
      waitingPods: [],
    };
    assert.deepEqual(decideClaim({ ...empty, ...given }).map(shown), then);
  });
}

const provisioned = { 'pv.kubernetes.io/provisioned-by': 'driver.example' };
const volumes: {
  name: string;
  volume: PersistentVolume;
  claim?: PersistentVolumeClaim;
  then: string[];
}[] = [
  { name: 'names nobody', volume: volume(), then: ['phase Available'] },
  {
    name: 'is reserved',
    volume: volume({ claimRef: RESERVED }),
    then: ['phase Available', 'look-at-claim'],
  },
  { name: 'its claim is gone', volume: volume({ claimRef: OURS }), then: ['phase Released'] },
  { name: 'was released', volume: volume({ claimRef: OURS }, {}, 'Released'), then: [] },
  { name: 'has failed, and that stays', volume: volume({ claimRef: OURS }, {}, 'Failed'), then: [] },
  {
    name: 'is to be recycled, which nobody does',
    volume: volume({ claimRef: OURS, persistentVolumeReclaimPolicy: 'Recycle' }),
    then: ['Warning VolumeFailedRecycle', 'phase Failed'],
  },
  {
    name: 'its claim does not know yet',
    volume: volume({ claimRef: OURS }),
    claim: claim(),
    then: ['look-at-claim'],
  },
  {
    name: 'its claim wants another mode',
    volume: volume({ claimRef: OURS, volumeMode: 'Block' }),
    claim: claim(),
    then: ['Warning VolumeMismatch', 'claim: Warning VolumeMismatch'],
  },
  {
    name: 'both agree',
    volume: volume({ claimRef: OURS }),
    claim: claim({ volumeName: 'v' }),
    then: ['phase Bound'],
  },
  {
    name: 'its claim has another',
    volume: volume({ claimRef: OURS }),
    claim: claim({ volumeName: 'w' }),
    then: ['unbind'],
  },
  {
    name: 'was made for its claim, which has another',
    volume: volume({ claimRef: OURS, persistentVolumeReclaimPolicy: 'Delete' }, provisioned),
    claim: claim({ volumeName: 'w' }),
    then: ['phase Released'],
  },
  {
    name: 'was made for its claim, but is to be kept',
    volume: volume({ claimRef: OURS, persistentVolumeReclaimPolicy: 'Retain' }, provisioned),
    claim: claim({ volumeName: 'w' }),
    then: ['unbind'],
  },
];

for (const { name, volume: given, claim: owner = 'gone', then } of volumes) {
  test(`volume: ${name}`, () => {
    assert.deepEqual(decideVolume({ volume: given, claim: owner }).map(shown), then);
  });
}

test("the binder's choice is marked as such, a user's is not", () => {
  const chosen = volumeBoundTo(volume(), claim());
  assert.equal(chosen?.spec.claimRef?.uid, 'claim-uid');
  assert.deepEqual(chosen?.metadata.annotations, BY_CONTROLLER);
  const reserved = volumeBoundTo(volume({ claimRef: RESERVED }), claim());
  assert.equal(reserved?.spec.claimRef?.uid, 'claim-uid');
  assert.deepEqual(reserved?.metadata.annotations, {});
  assert.equal(volumeBoundTo(volume({ claimRef: OURS }), claim()), undefined);
  const named = claimBoundTo(claim(), volume());
  assert.deepEqual(named?.metadata.annotations, { ...COMPLETED, ...BY_CONTROLLER });
  assert.deepEqual(claimBoundTo(claim({ volumeName: 'v' }), volume())?.metadata.annotations, COMPLETED);
  assert.equal(claimBoundTo(claim({ volumeName: 'v' }, COMPLETED), volume()), undefined);
});

test('a volume that is given back keeps what the user wrote', () => {
  assert.equal(volumeUnbound(volume({ claimRef: OURS }, BY_CONTROLLER)).spec.claimRef, undefined);
  assert.deepEqual(volumeUnbound(volume({ claimRef: OURS }, BY_CONTROLLER)).metadata.annotations, {});
  assert.deepEqual(volumeUnbound(volume({ claimRef: OURS })).spec.claimRef, RESERVED);
});

test("a bound claim's capacity is its volume's at first, and then whoever expands it says", () => {
  const first = claimStatusBoundTo(claim(), volume());
  assert.deepEqual(first?.status, {
    phase: 'Bound',
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '2Gi' },
  });
  const smaller = volume({}, { 'volume.alpha.kubernetes.io/pre-resize-capacity': '1Gi' });
  assert.deepEqual(claimStatusBoundTo(claim(), smaller)?.status?.capacity, { storage: '1Gi' });
  const bound = claim({}, {}, { ...first?.status, capacity: { storage: '1Gi' } });
  assert.equal(claimStatusBoundTo(bound, volume()), undefined);
  const attributed = volume({ volumeAttributesClassName: 'gold' });
  assert.equal(claimStatusBoundTo(bound, attributed)?.status?.currentVolumeAttributesClassName, 'gold');
});
