// From a pod to each of its volumes: has it a node, and has every volume come all the way to it. Pure.

import type { PersistentVolumeClaim, Pod, PodVolume } from '../api/kinds.ts';
import { keyOf } from '../api/object.ts';
import { claimNameOf, isTerminated } from '../api/volumes.ts';
import type { Link } from './chain.ts';
import { explainClaim, waitsForPod } from './explain-claim.ts';
import { explainAttachment, explainDriver, isReady } from './explain-reach.ts';
import { explainVolume } from './explain-volume.ts';
import type { Facts } from './facts.ts';
import { end, isWhole, ok, since } from './link.ts';

export function explainPod(facts: Facts, pod: Pod): Link[] {
  const subject = `Pod ${keyOf(pod)}`;
  const { nodeName } = pod.spec;
  const phase = pod.status?.phase ?? 'Pending';
  const going = pod.metadata.deletionTimestamp;
  const state = going === undefined ? 'is' : `is being deleted${since(going, facts)}, and is`;
  const node = facts.nodes.find(({ metadata }) => metadata.name === nodeName);
  if (node && !isReady(node)) {
    const todo = [`bring node ${nodeName} back`];
    return [
      end(facts, 'stuck', subject, `${state} on node ${nodeName}, which does not answer`, {
        todo,
        about: pod,
      }),
    ];
  }
  if (going !== undefined) {
    const todo = [`see what the kubelet of ${nodeName} says`];
    return [
      end(facts, 'waits', subject, `${state} on node ${nodeName}, which ends it and takes its volumes away`, {
        todo,
        about: pod,
      }),
    ];
  }
  if (pod.status?.phase === 'Failed' && pod.status.message) {
    const says = `has failed: ${pod.status.reason ?? 'Failed'}: ${pod.status.message}`;
    return [end(facts, 'stuck', subject, says, { todo: ['delete it, and make it again'] })];
  }
  if (isTerminated(pod)) return [ok(subject, 'has ended')];
  const links = nodeName ? [ok(subject, `${phase} on node ${nodeName}`)] : [];
  for (const volume of pod.spec.volumes ?? []) {
    links.push(...explainPodVolume(facts, pod, volume));
    if (!isWhole(links)) return links;
  }
  if (!nodeName) links.push(explainScheduling(facts, pod, subject));
  else if (phase !== 'Running') links.push(explainMounting(facts, pod));
  return links;
}

function explainScheduling(facts: Facts, pod: Pod, subject: string): Link {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message;
  const todo = scheduled ? [] : ['see that the scheduler runs'];
  const says = `has no node: ${scheduled ?? 'the scheduler did not look at it yet'}`;
  return end(facts, scheduled ? 'stuck' : 'waits', subject, says, { todo, about: pod });
}

function explainMounting(facts: Facts, pod: Pod): Link {
  const { nodeName } = pod.spec;
  // Berth's node says there what it waits for; a kubelet says it in events alone.
  const message = pod.status?.containerStatuses?.find(({ state }) => state?.waiting?.message)?.state?.waiting
    ?.message;
  const forHowLong = since(pod.status?.startTime, facts);
  const says = message
    ? `the node waits${forHowLong}: ${message}`
    : `the volumes are there; the kubelet has to mount them and start the containers${forHowLong}`;
  const todo = [`see what the kubelet of ${nodeName} says, and the log of the driver there`];
  return end(facts, 'waits', `mounts on ${nodeName}`, says, { todo, about: pod });
}

function explainPodVolume(facts: Facts, pod: Pod, volume: PodVolume): Link[] {
  const { nodeName } = pod.spec;
  const claimName = claimNameOf(pod, volume);
  if (claimName === undefined) {
    return volume.csi && nodeName ? [explainDriver(facts, volume.csi.driver, nodeName)] : [];
  }
  const { namespace } = pod.metadata;
  const claim = facts.claims.find(
    ({ metadata }) => metadata.name === claimName && metadata.namespace === namespace,
  );
  if (claim !== undefined) return explainClaimOf(facts, pod, claim);
  const subject = `PersistentVolumeClaim ${namespace}/${claimName}`;
  if (!volume.ephemeral) {
    return [end(facts, 'stuck', subject, 'does not exist', { todo: ['make it'], about: pod })];
  }
  const todo = ['see that the controller manager runs: it makes the claim from the pod'];
  return [end(facts, 'waits', subject, 'is not made yet', { todo, about: pod })];
}

function explainClaimOf(facts: Facts, pod: Pod, claim: PersistentVolumeClaim): Link[] {
  const { nodeName } = pod.spec;
  if (!nodeName && waitsForPod(facts, claim)) {
    return [ok(`PersistentVolumeClaim ${keyOf(claim)}`, 'gets its volume once the pod has a node')];
  }
  const links = explainClaim(facts, claim);
  if (!isWhole(links)) return links;
  const name = claim.spec.volumeName;
  const volume = facts.volumes.find(({ metadata }) => metadata.name === name);
  if (volume === undefined) {
    if (facts.unread.includes('persistentvolumes')) return links;
    const says = 'does not exist, though the claim is bound to it';
    return [...links, end(facts, 'stuck', `PersistentVolume ${name}`, says, { about: claim })];
  }
  links.push(...explainVolume(facts, volume));
  const driver = volume.spec.csi?.driver;
  if (!isWhole(links) || !nodeName || driver === undefined) return links;
  links.push(explainDriver(facts, driver, nodeName));
  return isWhole(links) ? [...links, ...explainAttachment(facts, volume, pod)] : links;
}
