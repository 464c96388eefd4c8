// What must be there once faults have ended, and what must be gone once users have deleted everything. Reads the state of
// the API server and of the storage, never a component.

import { expansionState, hasCondition, requestedSize, wantsExpansion } from '../api/claim-expansion.ts';
import {
  csiNodes,
  leases,
  type Node,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  statefulSets,
  storageClasses,
  volumeAttachments,
} from '../api/kinds.ts';
import { keyOf } from '../api/object.ts';
import { quantityToBytes } from '../api/quantity.ts';
import { matchesNodeSelectorTerms } from '../api/selectors.ts';
import { claimNameOf, isTerminated, nodeIdsOf } from '../api/volumes.ts';
import {
  ANN_PRE_RESIZE_CAPACITY,
  ANN_PROVISIONING_INTENTS,
  ANN_SELECTED_NODE,
  FINALIZER_PROVISIONING,
} from '../api/well-known.ts';
import {
  isKeptByRestore,
  lacksSource,
  retainedSnapshots,
  snapshotExpectations,
  snapshotRemains,
} from './snapshot-expectations.ts';
import { MOST_GIB } from './storage-backend.ts';
import type { World } from './world.ts';

/** What users still wait for, as text; nothing once they have everything they asked for. */
export function* expectations(world: World): Generator<string> {
  const { reader } = world.server;
  const claims = new Map([...reader.list(persistentVolumeClaims)].map((claim) => [keyOf(claim), claim]));
  const volumes = new Map(
    [...reader.list(persistentVolumes)].map((volume) => [volume.metadata.name, volume]),
  );
  const allPods = [...reader.list(pods)];
  const classOf = (claim: PersistentVolumeClaim) =>
    reader.get(storageClasses, { name: claim.spec.storageClassName ?? '' });

  // On a silent node nothing ends and nothing begins.
  const isStuck = ({ spec }: Pod): boolean =>
    world.silent.has(spec.nodeName ?? spec.nodeSelector?.['kubernetes.io/hostname'] ?? '');

  const canBind = (claim: PersistentVolumeClaim): boolean =>
    classOf(claim) !== undefined && !lacksSource(world, claim);
  const nodeOf = (name: string) => reader.get(nodes, { name });
  for (const name of world.nodes.keys()) if (!world.silent.has(name)) yield* unregistered(world, name);
  for (const [key, claim] of claims) {
    if (claim.metadata.deletionTimestamp) {
      const isUsed = allPods.some((pod) => claimKeys(pod).includes(key));
      if (!isUsed && !isKeptByRestore(world, claim)) yield `claim ${key} is being deleted`;
      continue;
    }
    if (isLost(claim, volumes)) continue;
    if (claim.status?.phase === 'Bound') {
      const isUsed = allPods.some(
        (pod) => claimKeys(pod).includes(key) && pod.status?.phase === 'Running' && !isStuck(pod),
      );
      yield* unfinishedGrowth(world, claim, { volume: volumes.get(claim.spec.volumeName ?? ''), isUsed });
      continue;
    }
    const storageClass = classOf(claim);
    if (storageClass === undefined || lacksSource(world, claim)) continue;
    const users = allPods.filter((pod) => claimKeys(pod).includes(key));
    // The scheduler places no second pod that uses such a claim, whatever becomes of the first.
    const isHeld =
      claim.spec.accessModes?.includes('ReadWriteOncePod') && users.some((pod) => isPlacedBefore(pod, claim));
    const isAwaited =
      !isHeld &&
      users.some((pod) => !pod.metadata.deletionTimestamp && !isPlacedBefore(pod, claim) && !isStuck(pod));
    if (storageClass.volumeBindingMode === 'Immediate' || isAwaited) yield `claim ${key} is not bound`;
  }
  for (const pod of allPods) {
    if (isStuck(pod) || isMadeAgain(world, pod)) continue;
    // As in Kubernetes, a pod that failed with its node stays failed when the node comes back.
    if (isTerminated(pod) && (losesNodes(world) || isRejected(pod))) continue;
    if (pod.metadata.deletionTimestamp) yield `pod ${keyOf(pod)} is being deleted`;
    else if (pod.status?.phase !== 'Running' && canRun(pod, { claims, volumes, allPods, canBind, nodeOf })) {
      yield `pod ${keyOf(pod)} is not running`;
    }
  }
  yield* snapshotExpectations(world);
}

/** Node and CSINode say what each driver says of the node. */
function* unregistered(world: World, name: string): Generator<string> {
  const { reader } = world.server;
  const node = reader.get(nodes, { name });
  const entries = reader.get(csiNodes, { name })?.spec?.drivers ?? [];
  const zone = world.nodes.get(name)?.plan.zone ?? '';
  for (const backend of world.backends.values()) {
    const { plan } = backend;
    const nodeId = backend.nodeIdOf(name);
    const segments = Object.entries(backend.segmentsIn(zone));
    const entry = entries.find((each) => each.name === plan.name);
    const isRight =
      entry?.nodeID === nodeId &&
      entry.allocatable?.count === backend.maxVolumes &&
      (entry.topologyKeys ?? []).join() === segments.map(([key]) => key).join();
    if (!isRight) yield `CSINode ${name} does not say what driver ${plan.name} says`;
    if (nodeIdsOf(node)[plan.name] !== nodeId) yield `Node ${name} is not annotated for driver ${plan.name}`;
    if (segments.some(([key, value]) => node?.metadata.labels?.[key] !== value))
      yield `Node ${name} is not labelled for driver ${plan.name}`;
  }
}

/** A claim has the size that was asked for, if it can be had; a finished expansion leaves no status behind. */
function* unfinishedGrowth(
  { plan }: World,
  claim: PersistentVolumeClaim,
  { volume, isUsed }: { volume: PersistentVolume | undefined; isUsed: boolean },
): Generator<string> {
  const expands = plan.drivers.find(({ name }) => name === volume?.spec.csi?.driver)?.expands;
  if (!volume || !expands || volume.metadata.deletionTimestamp) return;
  const requested = quantityToBytes(requestedSize(claim));
  if (requested > BigInt(MOST_GIB) << 30n) return;
  const key = keyOf(claim);
  const state = expansionState(claim);
  if (wantsExpansion(claim)) {
    // Sizes are reached one after the other, and this one waits until a pod mounts the volume.
    const isWaiting = state === 'NodeResizePending' || state === 'NodeResizeInProgress';
    if (isUsed || !isWaiting) yield `claim ${key} is not grown`;
  } else {
    if (state || hasCondition(claim, 'Resizing')) yield `claim ${key} still says that it grows`;
    if (volume.metadata.annotations?.[ANN_PRE_RESIZE_CAPACITY])
      yield `volume ${volume.metadata.name} still says what it had before`;
  }
}

/** Of a controller, on a node without room. Its driver cannot say so in NodeGetInfo, so the next pod may be placed there, too. */
function isMadeAgain({ backends }: World, { metadata, spec }: Pod): boolean {
  if (!metadata.ownerReferences?.length) return false;
  return [...backends.values()].some(({ fullNodes }) => fullNodes.has(spec.nodeName ?? ''));
}

/** Its node has no room for its volumes. Whoever made it has to make another. */
function isRejected({ status, metadata }: Pod): boolean {
  return status?.reason === 'VolumeAttachmentLimitExceeded' && !metadata.deletionTimestamp;
}

/** Users delete Nodes in this world. */
function losesNodes({ plan }: World): boolean {
  return plan.steps.some(({ action }) => action.do === 'delete-node' || action.do === 'out-of-service');
}

interface Known {
  claims: ReadonlyMap<string, PersistentVolumeClaim>;
  volumes: ReadonlyMap<string, PersistentVolume>;
  allPods: readonly Pod[];
  canBind(claim: PersistentVolumeClaim): boolean;
  nodeOf(name: string): Node | undefined;
}

/** Nothing that users did keeps the pod from running. */
function canRun(pod: Pod, { claims, volumes, allPods, canBind, nodeOf }: Known): boolean {
  for (const podVolume of pod.spec.volumes ?? []) {
    const handle = podVolume.csi?.volumeHandle;
    // Somebody else has the volume: at most one of the two can run.
    if (handle && allPods.some((other) => other !== pod && inlineHandles(other).includes(handle)))
      return false;
    const name = claimNameOf(pod, podVolume);
    if (name === undefined) continue;
    const key = `${pod.metadata.namespace}/${name}`;
    const claim = claims.get(key);
    if (claim === undefined) {
      if (podVolume.ephemeral) continue;
      return false;
    }
    if (claim.metadata.deletionTimestamp || isLost(claim, volumes)) return false;
    if (claim.status?.phase !== 'Bound' && (!canBind(claim) || isPlacedBefore(pod, claim))) return false;
    const volume = volumes.get(claim.spec.volumeName ?? '');
    if (volume?.metadata.deletionTimestamp) return false;
    const node = nodeOf(pod.spec.nodeName ?? '');
    const terms = volume?.spec.nodeAffinity?.required?.nodeSelectorTerms;
    if (node && terms && !matchesNodeSelectorTerms(terms, node)) return false;
    if (claim.spec.accessModes?.includes('ReadWriteMany')) continue;
    const rivals = allPods.filter((other) => other !== pod && claimKeys(other).includes(key));
    if (rivals.length > 0) return false;
  }
  return true;
}

/**
 * The pod was scheduled for an earlier claim of this name. As in Kubernetes, no node is selected for the new claim then:
 * the pod has to be created again.
 */
function isPlacedBefore(pod: Pod, claim: PersistentVolumeClaim): boolean {
  return pod.spec.nodeName !== undefined && claim.metadata.annotations?.[ANN_SELECTED_NODE] === undefined;
}

/** Its volume was deleted under it. */
function isLost(claim: PersistentVolumeClaim, volumes: ReadonlyMap<string, PersistentVolume>): boolean {
  if (claim.status?.phase === 'Lost') return true;
  return claim.spec.volumeName !== undefined && !volumes.has(claim.spec.volumeName);
}

function claimKeys(pod: Pod): string[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    const name = claimNameOf(pod, volume);
    return name === undefined ? [] : [`${pod.metadata.namespace}/${name}`];
  });
}

function inlineHandles({ spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ csi }) => csi?.volumeHandle ?? []);
}

/** What is left of what users deleted, as text. */
export function* remains(world: World): Generator<string> {
  const { reader } = world.server;
  for (const resource of [statefulSets, pods, persistentVolumeClaims, volumeAttachments]) {
    for (const object of reader.list(resource as typeof pods)) {
      const intent = object.metadata.finalizers?.includes(FINALIZER_PROVISIONING) ? ' with an intent' : '';
      yield `${resource.kind} ${keyOf(object)}${intent}`;
    }
  }
  for (const { metadata } of reader.list(leases)) {
    const intents = metadata.annotations?.[ANN_PROVISIONING_INTENTS];
    if (intents?.includes('"uid"')) yield `Lease ${metadata.name} with intents: ${intents}`;
  }
  for (const volume of reader.list(persistentVolumes)) {
    const { persistentVolumeReclaimPolicy: policy } = volume.spec;
    if (policy !== 'Retain' || volume.status?.phase !== 'Released')
      yield `PersistentVolume ${keyOf(volume)} (${volume.status?.phase})`;
  }
  yield* snapshotRemains(world);
  const retained = new Set([...retainedHandles(world), ...retainedSnapshots(world)]);
  for (const backend of world.backends.values()) {
    for (const { text, id } of backend.remains()) {
      if (!retained.has(id)) yield `${backend.plan.name}: ${text}`;
    }
  }
  for (const node of world.nodes.values()) {
    for (const path of node.remains()) yield `${node.plan.name}: ${path}`;
    for (const { mountPoint } of node.mounter.mounts) yield `${node.plan.name}: mounted ${mountPoint}`;
  }
}

/** Handles of volumes that were to be kept, whether or not their objects still exist. */
export function retainedHandles({ history }: World): Set<string> {
  const handles = new Set<string>();
  for (const entry of history.entries) {
    if (entry.kind !== 'api' || entry.plural !== 'persistentvolumes') continue;
    const { spec } = (entry.after ?? entry.before) as PersistentVolume;
    if (spec.persistentVolumeReclaimPolicy === 'Retain') handles.add(spec.csi?.volumeHandle ?? '');
  }
  return handles;
}
