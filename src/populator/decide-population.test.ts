import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PersistentVolumeClaim, Pod, StorageClass } from '../api/kinds.ts';
import type { KubeObject } from '../api/object.ts';
import { decidePopulation, type PopulationFacts } from './decide-population.ts';
import type { PopulatorDefinition } from './populator-definition.ts';

const SOURCE = { metadata: { name: 's', namespace: 'ns' } } as KubeObject;
const FINALIZER = 'x.test/populate-target-protection';
const byPod: PopulatorDefinition = {
  prefix: 'x.test',
  namespace: 'own',
  source: { group: 'x.test', version: 'v1', kind: 'Thing', plural: 'things' },
  populate: { image: 'i', args: () => [], mountPath: '/m', devicePath: '/d' },
};
const byFunctions: PopulatorDefinition = {
  ...byPod,
  populate: { start: async () => {}, isComplete: async () => true },
};
const ref = { apiGroup: 'x.test', kind: 'Thing', name: 's' };

const claim = (spec: object = {}, metadata: object = {}) =>
  ({
    metadata: { name: 'c', namespace: 'ns', uid: 'u', finalizers: [FINALIZER], ...metadata },
    spec: { storageClassName: 'fast', dataSourceRef: ref, ...spec },
  }) as unknown as PersistentVolumeClaim;
const fresh = { finalizers: ['kubernetes.io/pvc-protection'] };
const prime = (spec: object = {}, phase = 'Bound') =>
  ({
    metadata: { name: 'prime-u', namespace: 'own' },
    spec,
    status: { phase },
  }) as unknown as PersistentVolumeClaim;
const pod = (phase: string, message?: string, metadata: object = {}) =>
  ({ metadata: { name: 'populate-u', uid: 'p', ...metadata }, status: { phase, message } }) as unknown as Pod;
const storageClass = (spec: object = {}) =>
  ({ metadata: { name: 'fast' }, provisioner: 'd', ...spec }) as unknown as StorageClass;
const delayed = storageClass({ volumeBindingMode: 'WaitForFirstConsumer' });
const selected = { annotations: { 'volume.kubernetes.io/selected-node': 'n1' } };

interface Case {
  name: string;
  given: Partial<PopulationFacts<KubeObject>>;
  then: object;
}

const nothing = { do: 'nothing' };
const cases: Case[] = [
  { name: 'no claim', given: { claim: undefined }, then: nothing },
  { name: 'no source named', given: { claim: claim({ dataSourceRef: undefined }) }, then: nothing },
  {
    name: 'a source of another kind',
    given: { claim: claim({ dataSourceRef: { ...ref, kind: 'Other' } }) },
    then: nothing,
  },
  {
    name: 'a source of another group',
    given: { claim: claim({ dataSourceRef: { ...ref, apiGroup: 'y.test' } }) },
    then: nothing,
  },
  { name: 'a claim of its own namespace', given: { claim: claim({}, { namespace: 'own' }) }, then: nothing },
  {
    name: 'a source that is not there',
    given: { claim: claim({}, fresh), source: undefined },
    then: {
      do: 'wait',
      why: 'Data source ns/s not found',
      event: { reason: 'PopulatorDataSourceNotFound', message: 'Data source ns/s not found' },
    },
  },
  {
    name: 'a class that is not there',
    given: { storageClass: undefined },
    then: { do: 'wait', why: 'StorageClass fast does not exist' },
  },
  {
    name: 'an in-tree class',
    given: { storageClass: storageClass({ provisioner: 'kubernetes.io/gce-pd' }) },
    then: nothing,
  },
  {
    name: 'delayed binding, no node yet',
    given: { claim: claim({}, fresh), storageClass: delayed },
    then: { do: 'wait', why: 'no node is selected for the claim yet' },
  },
  { name: 'the finalizer first', given: { claim: claim({}, fresh) }, then: { do: 'protect' } },
  { name: 'then the prime claim', given: {}, then: { do: 'create-prime', nodeName: undefined } },
  {
    name: 'on the selected node',
    given: { claim: claim({}, selected), storageClass: delayed },
    then: { do: 'create-prime', nodeName: 'n1' },
  },
  {
    name: 'then the pod',
    given: { prime: prime() },
    then: { do: 'create-pod', source: SOURCE, nodeName: undefined },
  },
  {
    name: 'a pod that runs',
    given: { prime: prime({ volumeName: 'v' }), pod: pod('Running') },
    then: { do: 'wait', why: 'pod populate-u is Running' },
  },
  {
    name: 'a pod that failed',
    given: { prime: prime({ volumeName: 'v' }), pod: pod('Failed', 'no space') },
    then: { do: 'delete-failed-pod', uid: 'p', why: 'no space' },
  },
  {
    name: 'a failed pod that is being deleted',
    given: { prime: prime(), pod: pod('Failed', '', { deletionTimestamp: 'now' }) },
    then: { do: 'wait', why: 'pod populate-u is being deleted' },
  },
  {
    name: 'a pod that succeeded',
    given: { prime: prime({ volumeName: 'v' }), pod: pod('Succeeded') },
    then: { do: 'rebind' },
  },
  {
    name: 'functions wait for the volume',
    given: { definition: byFunctions, prime: prime({}, 'Pending') },
    then: { do: 'wait', why: 'prime claim prime-u is not bound' },
  },
  {
    name: 'functions',
    given: { definition: byFunctions, prime: prime({ volumeName: 'v' }) },
    then: { do: 'call-functions', source: SOURCE },
  },
  {
    name: 'bound, and the prime claim does not know',
    given: { claim: claim({ volumeName: 'v' }), prime: prime({ volumeName: 'v' }) },
    then: { do: 'wait', why: 'prime claim prime-u still counts as bound to volume v' },
  },
  {
    name: 'bound, and the prime claim is Lost',
    given: { claim: claim({ volumeName: 'v' }), prime: prime({ volumeName: 'v' }, 'Lost') },
    then: { do: 'clean-up', isFinished: true },
  },
  {
    name: 'bound to another volume than the prime claim',
    given: { claim: claim({ volumeName: 'other' }), prime: prime({ volumeName: 'v' }) },
    then: { do: 'clean-up', isFinished: true },
  },
  {
    name: 'bound, and the prime claim is gone',
    given: { claim: claim({ volumeName: 'v' }), source: undefined },
    then: { do: 'clean-up', isFinished: true },
  },
  {
    name: 'bound and never touched',
    given: { claim: claim({ volumeName: 'v' }, fresh) },
    then: nothing,
  },
  {
    name: 'deleted meanwhile, also when source and class are gone',
    given: {
      claim: claim({}, { deletionTimestamp: 'now' }),
      source: undefined,
      storageClass: undefined,
      prime: prime(),
    },
    then: { do: 'clean-up', isFinished: false },
  },
  {
    name: 'deleted and never touched',
    given: { claim: claim({}, { ...fresh, deletionTimestamp: 'now' }) },
    then: nothing,
  },
  {
    name: 'a source of another namespace with a grant',
    given: {
      definition: { ...byPod, crossNamespace: true },
      claim: claim({ dataSourceRef: { ...ref, namespace: 'there' } }),
      isGranted: true,
    },
    then: { do: 'create-prime', nodeName: undefined },
  },
];

describe('what a populator does next:', () => {
  for (const { name, given, then } of cases) {
    test(name, () => {
      const facts: PopulationFacts<KubeObject> = {
        definition: byPod,
        claim: claim(),
        source: SOURCE,
        isGranted: false,
        storageClass: storageClass(),
        prime: undefined,
        pod: undefined,
        ...given,
      };
      assert.deepEqual(decidePopulation(facts), then);
    });
  }

  test('[POP-2] a source of another namespace without a grant waits, whether it exists or not', () => {
    const foreign = claim({ dataSourceRef: { ...ref, namespace: 'there' } }, fresh);
    for (const definition of [byPod, { ...byPod, crossNamespace: true }]) {
      const step = decidePopulation({
        definition,
        claim: foreign,
        source: SOURCE,
        isGranted: false,
        storageClass: storageClass(),
        prime: undefined,
        pod: undefined,
      });
      assert.equal(step.do, 'wait');
    }
  });
});
