// A pod that has no node: what the scheduler says, and what to do about each of its reasons, which are kube-scheduler's. Pure.

import type { PersistentVolume, Pod } from '../api/kinds.ts';
import { keyOf } from '../api/object.ts';
import { claimNameOf, storageClassOf } from '../api/volumes.ts';
import type { Link } from './chain.ts';
import { impossibleTopology } from './explain-provisioning.ts';
import { claimNamed, classNamed, podsOf, volumeNamed } from './fact-index.ts';
import type { Facts } from './facts.ts';
import { end, enumerated, podNames } from './link.ts';

export function explainScheduling(facts: Facts, pod: Pod, subject: string): Link {
  const refusal = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message;
  if (refusal === undefined) {
    return end(facts, 'waits', subject, 'has no node: the scheduler did not look at it yet', {
      todo: ['check that the scheduler runs'],
      about: pod,
    });
  }
  const impossible = claimsOf(facts, pod)
    .filter(({ status }) => status?.phase !== 'Bound')
    .map((claim) => classNamed(facts, storageClassOf(claim)))
    .flatMap((storageClass) => (storageClass && impossibleTopology(facts, storageClass)) ?? []);
  const [first] = impossible;
  if (first !== undefined)
    return end(facts, 'stuck', subject, `has no node: ${first.says}`, { ...first, about: pod });
  const todo = ADVICE.filter(({ when }) => when.test(refusal)).map(({ then }) => then(facts, pod));
  return end(facts, 'stuck', subject, `has no node: ${refusal}`, {
    todo: todo.length > 0 ? todo : ['change what the pod asks for, or add a node that has it'],
    about: pod,
  });
}

/** By the scheduler's words: the volume's reasons first, since they are rarely what was meant. */
const ADVICE: readonly { when: RegExp; then: (facts: Facts, pod: Pod) => string }[] = [
  {
    when: /ReadWriteOncePod/,
    then: (facts, pod) => {
      const others = claimsOf(facts, pod)
        .filter(({ spec }) => spec.accessModes?.includes('ReadWriteOncePod'))
        .flatMap((claim) => podsOf(facts, claim))
        .filter((other) => keyOf(other) !== keyOf(pod));
      return `delete ${others.length > 0 ? podNames(others) : 'the pod that has the claim'}: one pod at a time may use it`;
    },
  },
  {
    when: /volume node affinity conflict|match PersistentVolume's node affinity/,
    then: (facts, pod) => {
      const places = claimsOf(facts, pod)
        .map((claim) => volumeNamed(facts, claim.spec.volumeName))
        .flatMap((volume) => (volume ? affinityText(volume) : []));
      return `let the pod run where its volume is${places.length > 0 ? ` (${places.join('; ')})` : ''}, or restore the data to a new claim`;
    },
  },
  {
    when: /exceed max volume count/,
    then: () =>
      'delete a pod with volumes of this driver, or add a node: the driver limits the volumes of a node',
  },
  {
    when: /did not have enough free storage/,
    then: () =>
      'make room on the storage, or ask for less (kubectl get csistoragecapacities -A shows what is free)',
  },
  {
    when: /didn't find available persistent volumes to bind/,
    then: () =>
      'create a PersistentVolume that fits the claim, or use a class that provisions where the nodes are',
  },
  {
    when: /bound to non-existent pv/,
    then: () => 'restore the PersistentVolume of its claim, or delete the claim and create it again',
  },
  {
    when: /unbound immediate PersistentVolumeClaims/,
    then: (facts, pod) => {
      const [unbound] = claimsOf(facts, pod).filter(({ status }) => status?.phase !== 'Bound');
      return unbound
        ? `ask further: berth why pvc ${unbound.metadata.name} -n ${unbound.metadata.namespace}`
        : 'wait until its claims are bound';
    },
  },
  {
    when: /CSI driver is not installed on the node|did not carry the topology labels|find (?:a )?driver/,
    then: () => "check that the driver's pod runs on the nodes (kubectl get csinodes)",
  },
  {
    when: /node affinity\/selector/,
    then: ({ nodes }, { spec }) => {
      const wanted = Object.entries(spec.nodeSelector ?? {}).map(([key, value]) => `${key}=${value}`);
      const missing = wanted.filter((label) => {
        const [key = '', value] = label.split('=');
        return !nodes.some(({ metadata }) => metadata.labels?.[key] === value);
      });
      return missing.length > 0
        ? `label a node ${enumerated(missing)}, or change the pod's nodeSelector`
        : "change the pod's node affinity or nodeSelector, or label a node so that it fits";
    },
  },
  { when: /untolerated taint/, then: () => 'give the pod a toleration, or remove the taint from a node' },
  { when: /were unschedulable/, then: () => 'allow pods on a node again: kubectl uncordon NODE' },
  { when: /were not ready/, then: () => 'bring the nodes back that are not ready (kubectl get nodes)' },
  { when: /Insufficient|Too many pods/, then: () => 'free resources on a node, ask for less, or add a node' },
  { when: /no nodes available/, then: () => 'add a node' },
];

const claimsOf = (facts: Facts, pod: Pod) =>
  (pod.spec.volumes ?? []).flatMap((volume) => {
    const name = claimNameOf(pod, volume);
    const claim = name && claimNamed(facts, { namespace: pod.metadata.namespace, name });
    return claim ? [claim] : [];
  });

/** `zone in a, b`. */
function affinityText({ spec }: PersistentVolume): string[] {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  return terms.map((term) =>
    (term.matchExpressions ?? [])
      .map(({ key, operator, values = [] }) => `${key} ${operator.toLowerCase()} ${values.join(', ')}`.trim())
      .join(' and '),
  );
}
