// Whether a node can have a pod's volumes: those that exist, by their node affinity; those that are to be found or
// made, by what is free, by the class's topologies, by published capacity, and by the driver on the node; and all of
// them by how many volumes the node takes. Pure: everything it asks comes through `facts`.

import type { PersistentVolume } from '../../api/kinds.ts';
import { matchesNodeSelectorTerms } from '../../api/selectors.ts';
import type { DriverOnNode } from '../../api/volumes.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import { affinityAdmits, matchVolume } from '../matching/match-volume.ts';
import type { Constraint } from './node-index.ts';
import type { NodeInfo } from './node-info.ts';
import type { DelayedClaim, PodVolumes } from './pod-volumes.ts';
import { driverMissing, REASONS, topologyMissing } from './reasons.ts';

/** The provisioner of classes whose volumes are made by hand. */
const NO_PROVISIONER = 'kubernetes.io/no-provisioner';

export interface VolumeFacts {
  /** Free volumes of a class that the node might reach; may include some that do not fit, never omits one that does. */
  freeVolumes(className: string, info: NodeInfo): Iterable<PersistentVolume>;
  /** Whether the driver publishes capacity that scheduling must respect. */
  publishesCapacity(driver: DriverName): boolean;
  hasRoom(className: string, sizeBytes: bigint, info: NodeInfo): boolean;
  /** Whether this provisioner is a CSI driver, as far as any object tells. */
  isCsiDriver(driver: DriverName): boolean;
  /** The driver asks that pods with its volumes stay away from nodes where it does not run. */
  mustBeInstalled(driver: DriverName): boolean;
  driverOn(driver: DriverName, info: NodeInfo): DriverOnNode | undefined;
  /** How many volumes of the driver the node takes; undefined when any number. */
  volumeLimit(driver: DriverName, info: NodeInfo): number | undefined;
  /** Volumes that are on the node, or on their way to or from it, by driver. */
  volumesOn(info: NodeInfo): ReadonlyMap<DriverName, ReadonlySet<string>>;
}

/** What is to be done about the delayed claims once the node is chosen. */
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
  // Its volume is being made for another node.
  if (!node || (selectedNode !== undefined && selectedNode !== info.name)) return REASONS.noVolume;
  const provisioner = storageClass.provisioner as DriverName;
  if (!provisioner || storageClass.provisioner === NO_PROVISIONER) return REASONS.noVolume;
  if (allowed.length > 0 && !matchesNodeSelectorTerms(allowed, node)) return REASONS.noVolume;
  if (facts.isCsiDriver(provisioner)) {
    // Without the driver's entry in CSINode, or its labels, CreateVolume could not say where the volume is to be.
    const driver = facts.driverOn(provisioner, info);
    if (!driver) return driverMissing(provisioner);
    if (!driver.topologyKeys.every((key) => node.metadata.labels?.[key] !== undefined)) {
      return topologyMissing(provisioner);
    }
  }
  const isFull =
    facts.publishesCapacity(provisioner) && !facts.hasRoom(storageClass.metadata.name, sizeBytes, info);
  // A volume that is already being made here has been counted by its driver.
  return isFull && selectedNode === undefined ? REASONS.noSpace : undefined;
}

function exceedsLimit(volumes: PodVolumes, info: NodeInfo, facts: VolumeFacts): boolean {
  let present: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  for (const [driver, wanted] of volumes.byDriver) {
    const limit = facts.volumeLimit(driver, info);
    if (limit === undefined) continue;
    present ??= facts.volumesOn(info);
    const there = present.get(driver) ?? new Set();
    const added = [...wanted].filter((volumeId) => !there.has(volumeId)).length;
    if (added > 0 && there.size + added > limit) return true;
  }
  return false;
}

/** What volumes say about which nodes are worth looking at. */
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
