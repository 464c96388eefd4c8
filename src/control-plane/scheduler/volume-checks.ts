// Whether a node can have a pod's volumes. Existing volumes are checked by their node affinity. Unbound claims are
// checked against free volumes, the class's topologies, published capacity and the driver on the node. All together are
// checked against the node's volume limit. Pure: everything it reads comes through `facts`.

import type { PersistentVolume } from '../../api/kinds.ts';
import { affinityAdmits, matchesNodeSelectorTerms } from '../../api/selectors.ts';
import type { DriverOnNode } from '../../api/volumes.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import { matchVolume } from '../matching/match-volume.ts';
import type { Constraint } from './node-index.ts';
import type { NodeInfo } from './node-info.ts';
import type { CountedVolume, DelayedClaim, PodVolumes } from './pod-volumes.ts';
import { driverMissing, REASONS, topologyMissing } from './reasons.ts';

/** The provisioner of classes without dynamic provisioning. */
const NO_PROVISIONER = 'kubernetes.io/no-provisioner';

export interface VolumeFacts {
  /** Free volumes of a class that the node might reach; may include some that do not fit, never omits one that does. */
  freeVolumes(className: string, info: NodeInfo): Iterable<PersistentVolume>;
  /** Whether the driver publishes capacity that scheduling must respect. */
  publishesCapacity(driver: DriverName): boolean;
  /** The published capacity that has room for the volume; undefined when there is none. */
  roomFor(className: string, sizeBytes: bigint, info: NodeInfo): bigint | undefined;
  /** Whether this provisioner is a CSI driver, as far as any object shows. */
  isCsiDriver(driver: DriverName): boolean;
  /** The driver requires that pods with its volumes go only to nodes where it runs. */
  mustBeInstalled(driver: DriverName): boolean;
  driverOn(driver: DriverName, info: NodeInfo): DriverOnNode | undefined;
  /** The driver's volume limit on the node; undefined when there is none. */
  volumeLimit(driver: DriverName, info: NodeInfo): number | undefined;
  /** Volumes on the node by driver, including those being attached or detached. */
  volumesOn(info: NodeInfo): ReadonlyMap<DriverName, ReadonlySet<CountedVolume>>;
}

/** What to do for the delayed claims once the node is chosen. */
export interface BindingPlan {
  matches: { claim: DelayedClaim; volume: PersistentVolume }[];
  provisions: DelayedClaim[];
}

export function checkVolumes(
  volumes: PodVolumes,
  info: NodeInfo,
  facts: VolumeFacts,
): { reasons: string[] } | BindingPlan {
  const { node } = info;
  if (!node) return { reasons: [REASONS.notReady] };
  if (exceedsLimit(volumes, info, facts)) return { reasons: [REASONS.volumeLimit] };
  for (const driver of volumes.byDriver.keys()) {
    if (facts.mustBeInstalled(driver) && !facts.driverOn(driver, info)) {
      return { reasons: [driverMissing(driver)] };
    }
  }
  const plan: BindingPlan = { matches: [], provisions: [] };
  const reasons = new Set<string>();
  if (!volumes.existing.every((volume) => affinityAdmits(volume, node))) reasons.add(REASONS.volumeAffinity);
  const taken = new Set<string>();
  for (const claim of volumes.delayed) {
    const match = claim.selectedNode === undefined ? freeMatch(claim, info, facts, taken) : undefined;
    if (match) {
      taken.add(match.metadata.name);
      plan.matches.push({ claim, volume: match });
      continue;
    }
    const reason = provisionProblem(claim, info, facts);
    if (reason === undefined) plan.provisions.push(claim);
    else reasons.add(reason);
  }
  if (volumes.volumeGone) reasons.add(REASONS.volumeGone);
  return reasons.size > 0 ? { reasons: [...reasons] } : plan;
}

function freeMatch(
  { claim, storageClass }: DelayedClaim,
  info: NodeInfo,
  facts: VolumeFacts,
  taken: ReadonlySet<string>,
): PersistentVolume | undefined {
  const free = [...facts.freeVolumes(storageClass.metadata.name, info)].filter(
    ({ metadata }) => !taken.has(metadata.name),
  );
  return free.length > 0 ? matchVolume(claim, free, info.node) : undefined;
}

function provisionProblem(claim: DelayedClaim, info: NodeInfo, facts: VolumeFacts): string | undefined {
  const { storageClass, selectedNode, sizeBytes, allowed } = claim;
  const { node } = info;
  // Its volume is being provisioned for another node.
  if (!node || (selectedNode !== undefined && selectedNode !== info.name)) return REASONS.noVolume;
  const provisioner = storageClass.provisioner as DriverName;
  if (!provisioner || storageClass.provisioner === NO_PROVISIONER) return REASONS.noVolume;
  if (allowed.length > 0 && !matchesNodeSelectorTerms(allowed, node)) return REASONS.noVolume;
  if (facts.isCsiDriver(provisioner)) {
    // Without the driver's entry in CSINode, or its labels, CreateVolume could not be given a topology.
    const driver = facts.driverOn(provisioner, info);
    if (!driver) return driverMissing(provisioner);
    if (!driver.topologyKeys.every((key) => node.metadata.labels?.[key] !== undefined)) {
      return topologyMissing(provisioner);
    }
  }
  const isFull =
    facts.publishesCapacity(provisioner) &&
    facts.roomFor(storageClass.metadata.name, sizeBytes, info) === undefined;
  // The driver's published capacity already accounts for a volume that is being provisioned here.
  return isFull && selectedNode === undefined ? REASONS.noSpace : undefined;
}

function exceedsLimit(volumes: PodVolumes, info: NodeInfo, facts: VolumeFacts): boolean {
  let present: ReadonlyMap<DriverName, ReadonlySet<CountedVolume>> | undefined;
  for (const [driver, wanted] of volumes.byDriver) {
    const limit = facts.volumeLimit(driver, info);
    if (limit === undefined) continue;
    present ??= facts.volumesOn(info);
    const there = present.get(driver) ?? new Set();
    const added = [...wanted].filter((volume) => !there.has(volume)).length;
    if (added > 0 && there.size + added > limit) return true;
  }
  return false;
}

/** Constraints of the volumes that narrow down the candidate nodes. */
export function volumeConstraints({ existing, delayed }: PodVolumes): Constraint[] {
  const constraints: Constraint[] = [];
  for (const { spec } of existing) {
    const terms = spec.nodeAffinity?.required?.nodeSelectorTerms;
    if (terms) constraints.push(terms);
  }
  for (const { selectedNode } of delayed) {
    if (selectedNode !== undefined) {
      constraints.push([{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [selectedNode] }] }]);
    }
  }
  return constraints;
}
