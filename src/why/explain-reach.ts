// From a volume to the node where a pod needs it: is the driver there, and is the volume attached, and if not, who
// holds it. Pure.

import type { PersistentVolume, Pod, VolumeAttachment } from '../api/kinds.ts';
import { claimNameOf, isTerminated } from '../api/volumes.ts';
import { TAINT_OUT_OF_SERVICE } from '../api/well-known.ts';
import { type DriverName, type NodeName, volumeNamesOf } from '../csi/names/driver-name.ts';
import type { Link } from './chain.ts';
import { attachmentsOf, nodeNamed, nodeState } from './fact-index.ts';
import type { Facts } from './facts.ts';
import { end, enumerated, objectArgument, ok, podNames, reported, since } from './link.ts';
import { newestReport, reportInStatus } from './report.ts';
import { absenceOf, lookAt } from './who-works.ts';

/** Is the driver registered on the node. */
export function explainRegistration(facts: Facts, driver: DriverName, node: NodeName): Link {
  const subject = `driver ${driver}`;
  const names = nodesWith(facts, driver);
  if (names.includes(node)) return ok(subject, `is on node ${node}`);
  const where = names.length === 0 ? 'nor on any other' : `only on ${enumerated(names)}`;
  return end(facts, 'stuck', subject, `is not on node ${node}, ${where}`, {
    todo: [`check that the driver's pod runs on ${node}, and read the log of its node-registrar`],
    // A failed registration is reported there.
    about: nodeNamed(facts, node),
  });
}

export const nodesWith = ({ csiNodes }: Facts, driver: DriverName): NodeName[] =>
  csiNodes
    .filter(({ spec }) => spec.drivers?.some(({ name }) => name === driver))
    .map(({ metadata }) => metadata.name as NodeName);

export function explainAttachment(facts: Facts, volume: PersistentVolume, pod: Pod): Link[] {
  const driver = driverOf(volume);
  const object = facts.drivers.find(({ metadata }) => metadata.name === driver);
  if (object?.spec.attachRequired === false) return [];
  const { nodeName } = pod.spec;
  const ofVolume = attachmentsOf(facts, volume);
  const own = ofVolume.find(({ spec }) => spec.nodeName === nodeName);
  if (own !== undefined) return [explainOwn(facts, own, { volume, pod })];
  const [holder] = ofVolume;
  const isShared = volume.spec.accessModes?.some((mode) => mode.endsWith('Many'));
  if (holder !== undefined && !isShared) return [explainHolder(facts, holder, { volume, pod })];
  const todo = ['check that the controller manager runs: it asks the attacher'];
  return [end(facts, 'waits', `attachment to ${nodeName}`, 'nobody asked for it yet', { todo, about: pod })];
}

const driverOf = ({ spec }: PersistentVolume): DriverName => (spec.csi?.driver ?? '') as DriverName;

function explainOwn(
  facts: Facts,
  attachment: VolumeAttachment,
  { volume, pod }: { volume: PersistentVolume; pod: Pod },
): Link {
  const { metadata, spec, status } = attachment;
  const subject = `attachment to ${spec.nodeName}`;
  const going = metadata.deletionTimestamp;
  if (status?.attached && going === undefined) return ok(subject, `VolumeAttachment ${metadata.name}`);
  const failure = explainFailure(facts, attachment, { volume, pod, subject });
  if (failure !== undefined) return failure;
  const driver = driverOf(volume);
  const absence = absenceOf(facts, 'attacher', driver);
  const waits =
    going === undefined
      ? `waits for the attacher of ${driver}${since(metadata.creationTimestamp, facts)}`
      : `an earlier one is being removed${since(going, facts)}`;
  return end(facts, absence ? 'stuck' : 'waits', subject, [waits, ...(absence ? [absence] : [])].join('; '), {
    todo: [lookAt('attacher', driver)],
    about: attachment,
  });
}

/** What the attacher reported of the attachment, or undefined. */
export function explainFailure(
  facts: Facts,
  attachment: VolumeAttachment,
  of: { volume: PersistentVolume | undefined; pod?: Pod; subject: string },
): Link | undefined {
  const { metadata, spec, status } = attachment;
  const isGoing = metadata.deletionTimestamp !== undefined;
  const error = isGoing ? status?.detachError : status?.attachError;
  const reason = isGoing ? 'FailedDetachVolume' : 'FailedAttachVolume';
  const report = reportInStatus(facts, error, [attachment]) ?? newestReport(facts, [attachment], [reason]);
  if (report === undefined) return undefined;
  const csi = of.volume?.spec.csi;
  const attempt = {
    operation: isGoing ? 'ControllerUnpublishVolume' : 'ControllerPublishVolume',
    driver: spec.attacher as DriverName,
    object: of.pod ? objectArgument('pod', of.pod) : `volumeattachment ${metadata.name}`,
    node: spec.nodeName as NodeName,
    volumeHandle: csi && volumeNamesOf(csi).volumeHandle,
  } as const;
  const before = isGoing ? `the volume cannot be detached from ${whichNode(facts, attempt.node)}: ` : '';
  return reported(facts, of.subject, { report, attempt, before, about: attachment });
}

function whichNode(facts: Facts, node: NodeName): string {
  const state = nodeState(facts, node);
  if (state === 'deleted') return `${node}, a node that was deleted`;
  return state === 'silent' ? `${node}, which does not answer` : node;
}

/** A volume for one node, and another node has it. */
function explainHolder(
  facts: Facts,
  holder: VolumeAttachment,
  { volume, pod }: { volume: PersistentVolume; pod: Pod },
): Link {
  const there = holder.spec.nodeName as NodeName;
  const subject = `attachment to ${pod.spec.nodeName}`;
  const going = holder.metadata.deletionTimestamp;
  if (going !== undefined) {
    const failure = explainFailure(facts, holder, { volume, pod, subject });
    if (failure !== undefined) return failure;
  }
  const users = facts.pods.filter(
    (other) => other.spec.nodeName === there && !isTerminated(other) && uses(other, volume),
  );
  const state = nodeState(facts, there);
  const says = [
    `the volume is still attached to ${whichNode(facts, there)}`,
    ...(users.length > 0 ? [`and ${podNames(users)} ${users.length === 1 ? 'has' : 'have'} it there`] : []),
    ...(going === undefined ? [] : [`and is being detached${since(going, facts)}`]),
  ];
  const isHeld = users.length > 0 && going === undefined;
  const isLost = state === 'silent' || state === 'deleted';
  const todo =
    state === 'silent'
      ? silentNodeAdvice(there)
      : state === 'deleted'
        ? [
            users.length > 0
              ? `delete ${podNames(users)} with --force: no kubelet is left to end ${users.length === 1 ? 'it' : 'them'}`
              : 'wait: it is detached after 6 minutes, since no node is left that could unmount it',
            lookAt('attacher', driverOf(volume)),
          ]
        : isHeld
          ? [`delete ${podNames(users)}, or run both pods on one node`]
          : [lookAt('attacher', driverOf(volume))];
  return end(facts, (isLost && going === undefined) || isHeld ? 'stuck' : 'waits', subject, says.join(', '), {
    todo,
    about: pod,
    ...(isLost && { cause: `node ${there}` }),
  });
}

export const silentNodeAdvice = (node: NodeName): string[] => [
  `bring node ${node} back`,
  `or, when it is off for certain: kubectl taint nodes ${node} ${TAINT_OUT_OF_SERVICE}=nodeshutdown:NoExecute`,
];

function uses(pod: Pod, { spec: { claimRef } }: PersistentVolume): boolean {
  return (
    pod.metadata.namespace === claimRef?.namespace &&
    (pod.spec.volumes ?? []).some((each) => claimNameOf(pod, each) === claimRef?.name)
  );
}
