// From a volume to the node where a pod needs it: is the driver there, and is the volume attached, and if not, who
// holds it. Pure.

import type { Node, PersistentVolume, Pod, VolumeAttachment } from '../api/kinds.ts';
import { claimNameOf, isTerminated } from '../api/volumes.ts';
import { TAINT_OUT_OF_SERVICE } from '../api/well-known.ts';
import type { Link } from './chain.ts';
import { podNames } from './explain-claim.ts';
import type { Facts } from './facts.ts';
import { end, enumerated, ok, since } from './link.ts';
import { absenceOf, lookAt } from './who-works.ts';

export function explainDriver(facts: Facts, driver: string, nodeName: string): Link {
  const subject = `driver ${driver}`;
  const withDriver = facts.csiNodes.filter(({ spec }) => spec.drivers.some(({ name }) => name === driver));
  const names = withDriver.map(({ metadata }) => metadata.name);
  if (names.includes(nodeName)) return ok(subject, `is on node ${nodeName}`);
  const node = facts.nodes.find(({ metadata }) => metadata.name === nodeName);
  const where = names.length === 0 ? 'nor on any other' : `only on ${enumerated(names)}`;
  return end(facts, 'stuck', subject, `is not on node ${nodeName}, ${where}`, {
    todo: [`see that the pod of the driver runs on ${nodeName}, and what its node-registrar says`],
    // A registration that failed is told there.
    ...(node && { about: node }),
  });
}

export function explainAttachment(facts: Facts, volume: PersistentVolume, pod: Pod): Link[] {
  const driver = volume.spec.csi?.driver ?? '';
  const object = facts.drivers.find(({ metadata }) => metadata.name === driver);
  if (object?.spec.attachRequired === false) return [];
  const { nodeName } = pod.spec;
  const ofVolume = facts.attachments.filter(
    ({ spec }) => spec.source.persistentVolumeName === volume.metadata.name,
  );
  const own = ofVolume.find(({ spec }) => spec.nodeName === nodeName);
  if (own !== undefined) return [explainOwn(facts, own, driver)];
  const [holder] = ofVolume;
  const isShared = volume.spec.accessModes?.some((mode) => mode.endsWith('Many'));
  if (holder !== undefined && !isShared) return [explainHolder(facts, holder, volume, pod)];
  const todo = ['see that the controller manager runs: it asks the attacher'];
  return [end(facts, 'waits', `attachment to ${nodeName}`, 'nobody asked for it yet', { todo, about: pod })];
}

function explainOwn(facts: Facts, attachment: VolumeAttachment, driver: string): Link {
  const { metadata, spec, status } = attachment;
  const subject = `attachment to ${spec.nodeName}`;
  const going = metadata.deletionTimestamp;
  if (status?.attached && going === undefined) return ok(subject, `VolumeAttachment ${metadata.name}`);
  const absence = absenceOf(facts, 'attacher', driver);
  const error = (going === undefined ? status?.attachError : status?.detachError)?.message;
  const says = [
    going === undefined
      ? `waits for the attacher of ${driver}${since(metadata.creationTimestamp, facts)}`
      : `an earlier one is being taken away${since(going, facts)}`,
    ...(error ? [`it failed and is tried again: ${error}`] : []),
    ...(absence ? [absence] : []),
  ];
  const todo = [lookAt('attacher', driver)];
  return end(facts, absence ? 'stuck' : 'waits', subject, says.join('; '), { todo, about: attachment });
}

/** A volume for one node, and another node has it. */
function explainHolder(facts: Facts, holder: VolumeAttachment, volume: PersistentVolume, pod: Pod): Link {
  const there = holder.spec.nodeName;
  const going = holder.metadata.deletionTimestamp;
  const users = facts.pods.filter(
    (other) => other.spec.nodeName === there && !isTerminated(other) && uses(other, volume),
  );
  const node = facts.nodes.find(({ metadata }) => metadata.name === there);
  const isSilent = node !== undefined && !isReady(node);
  const error = holder.status?.detachError?.message;
  const says = [
    `the volume is still attached to ${there}`,
    ...(users.length > 0 ? [`where ${podNames(users)} ${users.length === 1 ? 'has' : 'have'} it`] : []),
    ...(isSilent ? ['which does not answer'] : []),
    ...(going === undefined ? [] : [`and is being detached${since(going, facts)}`]),
    ...(error ? [`which failed and is tried again: ${error}`] : []),
  ];
  const isHeld = users.length > 0 && going === undefined;
  return end(
    facts,
    isSilent || isHeld ? 'stuck' : 'waits',
    `attachment to ${pod.spec.nodeName}`,
    says.join(', '),
    {
      todo: isSilent
        ? [
            `bring node ${there} back`,
            `or, when it is off for certain: kubectl taint nodes ${there} ${TAINT_OUT_OF_SERVICE}=nodeshutdown:NoExecute`,
          ]
        : isHeld
          ? [`delete ${podNames(users)}, or let the pods share a node`]
          : [lookAt('attacher', volume.spec.csi?.driver ?? '')],
      about: pod,
    },
  );
}

function uses(pod: Pod, { spec: { claimRef } }: PersistentVolume): boolean {
  return (
    pod.metadata.namespace === claimRef?.namespace &&
    (pod.spec.volumes ?? []).some((each) => claimNameOf(pod, each) === claimRef?.name)
  );
}

export function isReady(node: Node): boolean {
  return node.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
}
