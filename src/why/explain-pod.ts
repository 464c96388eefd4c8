// From a pod to each of its volumes: has it a node, and has every volume come all the way to it. Pure.

import type { PersistentVolumeClaim, Pod, PodVolume } from '../api/kinds.ts';
import { keyOf } from '../api/object.ts';
import { claimNameOf, isTerminated } from '../api/volumes.ts';
import type { DriverName, NodeName } from '../csi/names/driver-name.ts';
import type { Link } from './chain.ts';
import { explainClaim, waitsForPod } from './explain-claim.ts';
import { explainChanges } from './explain-growth.ts';
import { explainAttachment, explainRegistration, silentNodeAdvice } from './explain-reach.ts';
import { explainScheduling } from './explain-scheduling.ts';
import { explainVolume } from './explain-volume.ts';
import { claimNamed, nodeState, volumeNamed } from './fact-index.ts';
import type { Facts } from './facts.ts';
import { end, isWhole, objectArgument, ok, reported, since } from './link.ts';
import { newestReport, type Report, reportOf } from './report.ts';

export function explainPod(facts: Facts, pod: Pod): Link[] {
  const subject = `Pod ${keyOf(pod)}`;
  const { nodeName } = pod.spec;
  const phase = pod.status?.phase ?? 'Pending';
  if (phase === 'Failed' && pod.status?.message) {
    const says = `has failed: ${pod.status.reason ?? 'Failed'}: ${pod.status.message}`;
    return [end(facts, 'stuck', subject, says, { todo: ['delete it, and create it again'] })];
  }
  if (isTerminated(pod)) return [ok(subject, 'has ended')];
  const lost = nodeName && explainNodeOf(facts, pod, { subject, node: nodeName as NodeName });
  if (lost) return [lost];
  if (pod.metadata.deletionTimestamp !== undefined) return [explainGoing(facts, pod, subject)];
  const links = nodeName ? [ok(subject, `${phase} on node ${nodeName}`)] : [];
  for (const volume of pod.spec.volumes ?? []) {
    links.push(...explainPodVolume(facts, pod, volume));
    if (!isWhole(links)) return links;
  }
  if (!nodeName) links.push(explainScheduling(facts, pod, subject));
  else if (phase !== 'Running') links.push(explainMounting(facts, pod));
  // Only now: an expansion that fails keeps no pod from starting.
  return isWhole(links)
    ? [...links, ...claimsOf(facts, pod).flatMap((claim) => explainChanges(facts, claim))]
    : links;
}

/** The pod's node has gone or does not answer; undefined when it is there. */
function explainNodeOf(
  facts: Facts,
  pod: Pod,
  { subject, node }: { subject: string; node: NodeName },
): Link | undefined {
  const going = pod.metadata.deletionTimestamp;
  const is = going === undefined ? 'is' : `is being deleted${since(going, facts)}, and is`;
  switch (nodeState(facts, node)) {
    case 'deleted':
      return end(facts, 'stuck', subject, `${is} on node ${node}, which was deleted`, {
        todo: [`delete it with --force: kubectl delete ${objectArgument('pod', pod)} --force`],
        about: pod,
        cause: `node ${node}`,
      });
    case 'silent':
      return end(facts, 'stuck', subject, `${is} on node ${node}, which does not answer`, {
        todo: silentNodeAdvice(node),
        about: pod,
        cause: `node ${node}`,
      });
    default:
      return undefined;
  }
}

function explainGoing(facts: Facts, pod: Pod, subject: string): Link {
  const { nodeName } = pod.spec;
  const before = `is being deleted${since(pod.metadata.deletionTimestamp, facts)}`;
  const report = newestReport(facts, [pod], ['FailedUnMount', 'FailedKillPod']);
  if (report !== undefined) {
    const attempt = mountAttempt(facts, pod, 'NodeUnpublishVolume');
    return reported(facts, subject, { report, attempt, before: `${before}: `, about: pod });
  }
  const { finalizers = [] } = pod.metadata;
  if (finalizers.length > 0) {
    const says = `${before}: finalizer ${finalizers.join(', ')} is on it, which only its owner removes`;
    return end(facts, 'waits', subject, says, {
      todo: ["check that the finalizer's owner runs"],
      about: pod,
    });
  }
  return end(facts, 'waits', subject, `${before}: node ${nodeName} ends it and unmounts its volumes`, {
    todo: [`read the log of the kubelet of ${nodeName}`],
    about: pod,
  });
}

/** Reasons for which a container waits although the pod's volumes are mounted. */
const BEFORE_CONTAINERS = new Set([undefined, 'ContainerCreating', 'PodInitializing']);

function explainMounting(facts: Facts, pod: Pod): Link {
  const { nodeName } = pod.spec;
  const subject = `mounts on ${nodeName}`;
  const waiting = (pod.status?.containerStatuses ?? []).flatMap(({ state }) => state?.waiting ?? []);
  const later = waiting.find(({ reason }) => !BEFORE_CONTAINERS.has(reason));
  if (later !== undefined) {
    const says = `the volumes are mounted; a container waits: ${later.reason}${later.message ? `: ${later.message}` : ''}`;
    return end(facts, 'waits', `containers on ${nodeName}`, says, {
      todo: [`see kubectl describe ${objectArgument('pod', pod)}`],
      about: pod,
    });
  }
  // Berth's node says there what it waits for; a kubelet says it in events alone.
  const message = waiting.find((each) => each.message)?.message;
  const report = newestReport(facts, [pod], ['FailedMount', 'FailedMapVolume']) ?? waitingReport(message);
  if (report !== undefined) {
    return reported(facts, subject, {
      report,
      attempt: mountAttempt(facts, pod, 'NodeStageVolume'),
      about: pod,
    });
  }
  const forHowLong = since(pod.status?.startTime, facts);
  const says = message
    ? `the node waits${forHowLong}: ${message}`
    : `the volumes are there; the kubelet has to mount them and start the containers${forHowLong}`;
  const todo = [`read the log of the kubelet of ${nodeName}, and that of the driver there`];
  return end(facts, 'waits', subject, says, { todo, about: pod });
}

/** `volume v: NodeStageVolume at … failed: …`, where it is a failure. */
function waitingReport(message: string | undefined): Report | undefined {
  const text = message?.replace(/^volume \S+: /, '');
  if (text === undefined) return undefined;
  const report = reportOf(text);
  return report.code !== undefined || /(?:not found|does not exist)$/.test(text) ? report : undefined;
}

/** The driver is named where all CSI volumes of the pod are of one. */
function mountAttempt(facts: Facts, pod: Pod, operation: 'NodeStageVolume' | 'NodeUnpublishVolume') {
  const inline = (pod.spec.volumes ?? []).flatMap(({ csi }) => csi?.driver ?? []);
  const bound = claimsOf(facts, pod).flatMap(
    (claim) => volumeNamed(facts, claim.spec.volumeName)?.spec.csi?.driver ?? [],
  );
  const drivers = [...new Set([...inline, ...bound])] as DriverName[];
  return {
    operation,
    driver: drivers.length === 1 ? drivers[0] : undefined,
    node: pod.spec.nodeName as NodeName | undefined,
    object: objectArgument('pod', pod),
    namespace: pod.metadata.namespace,
  };
}

function claimsOf(facts: Facts, pod: Pod): PersistentVolumeClaim[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    const name = claimNameOf(pod, volume);
    return (name && claimNamed(facts, { namespace: pod.metadata.namespace, name })) || [];
  });
}

function explainPodVolume(facts: Facts, pod: Pod, volume: PodVolume): Link[] {
  const node = pod.spec.nodeName as NodeName | undefined;
  const name = claimNameOf(pod, volume);
  if (name === undefined) {
    return volume.csi && node ? [explainRegistration(facts, volume.csi.driver as DriverName, node)] : [];
  }
  const { namespace } = pod.metadata;
  const claim = claimNamed(facts, { namespace, name });
  if (claim !== undefined) return explainClaimOf(facts, pod, claim);
  const subject = `PersistentVolumeClaim ${namespace}/${name}`;
  if (!volume.ephemeral) {
    return [end(facts, 'stuck', subject, 'does not exist', { todo: ['create it'], about: pod })];
  }
  return [explainUnmade(facts, pod, subject)];
}

/** The claim of an ephemeral volume, which the controller manager creates. */
function explainUnmade(facts: Facts, pod: Pod, subject: string): Link {
  const report = newestReport(facts, [pod], ['FailedBinding']);
  if (report === undefined) {
    const todo = ['check that the controller manager runs: it creates the claim from the pod'];
    return end(facts, 'waits', subject, 'is not created yet', { todo, about: pod });
  }
  const quota = /exceeded quota: ([^,]+)/.exec(report.words)?.[1];
  const todo = quota
    ? [
        `raise ResourceQuota ${quota} in namespace ${pod.metadata.namespace}, or delete claims there`,
        'or ask for less',
      ]
    : ["correct the pod's volume template: delete the pod and create it again"];
  return end(facts, 'stuck', subject, `cannot be created: ${report.words}`, { todo, about: pod });
}

function explainClaimOf(facts: Facts, pod: Pod, claim: PersistentVolumeClaim): Link[] {
  const node = pod.spec.nodeName as NodeName | undefined;
  if (!node && waitsForPod(facts, claim)) {
    return [ok(`PersistentVolumeClaim ${keyOf(claim)}`, 'gets its volume once the pod has a node')];
  }
  const links = explainClaim(facts, claim);
  if (!isWhole(links)) return links;
  const name = claim.spec.volumeName;
  const volume = volumeNamed(facts, name);
  if (volume === undefined) {
    if (facts.unread.includes('persistentvolumes')) return links;
    const says = 'does not exist, though the claim is bound to it';
    const todo = [`restore PersistentVolume ${name}, or delete the claim and create it again`];
    return [...links, end(facts, 'stuck', `PersistentVolume ${name}`, says, { todo, about: claim })];
  }
  links.push(...explainVolume(facts, volume));
  const driver = volume.spec.csi?.driver as DriverName | undefined;
  if (!isWhole(links) || !node || driver === undefined) return links;
  links.push(explainRegistration(facts, driver, node));
  return isWhole(links) ? [...links, ...explainAttachment(facts, volume, pod)] : links;
}
