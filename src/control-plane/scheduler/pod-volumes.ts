// What a pod's volumes require, before any node is checked: which volumes exist, which claims get one once a node is
// chosen, and what makes the pod unschedulable on every node. Pure.

import type {
  NodeSelectorTerm,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodVolume,
  StorageClass,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { quantityToBytes } from '../../api/quantity.ts';
import { claimNameOf, selectedNodeOf, storageClassOf, uniqueVolumeName } from '../../api/volumes.ts';
import { ANN_BIND_COMPLETED } from '../../api/well-known.ts';
import {
  type Branded,
  type DriverName,
  type VolumeNames,
  volumeNamesOf,
} from '../../csi/names/driver-name.ts';
import { matchVolume } from '../matching/match-volume.ts';
import { isMadeFor } from '../pods-by-claim.ts';

/** A volume in a node's limit: `uniqueVolumeName`, or `claim:KEY` or `attachment:NAME` where the handle is not known. */
export type CountedVolume = Branded<'CountedVolume'>;

export interface DelayedClaim {
  key: string;
  claim: PersistentVolumeClaim;
  storageClass: StorageClass;
  sizeBytes: bigint;
  /** Requirements of the class's allowedTopologies; empty means none. */
  allowed: readonly NodeSelectorTerm[];
  /** The node selected earlier: the volume is being provisioned for it and no other. */
  selectedNode: string | undefined;
}

export interface PodVolumes {
  /** Volumes of the pod's claims, bound or reserved. */
  existing: PersistentVolume[];
  /** A claim is bound to a volume that does not exist. */
  volumeGone: boolean;
  /** Claims whose volume is found or provisioned for the chosen node, smallest first. */
  delayed: DelayedClaim[];
  /** All claims are bound, so the pod can be bound once it has a node. */
  allBound: boolean;
  /** All volumes that count towards a node's limit, including persistent inline volumes. */
  byDriver: Map<DriverName, Set<CountedVolume>>;
  /** ReadWriteOncePod claims. */
  exclusiveClaims: string[];
}

export interface VolumeLookups {
  claim(key: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  storageClass(name: string): StorageClass | undefined;
  /** Volumes whose `claimRef` names the claim. */
  reservedFor(claimKey: string): Iterable<PersistentVolume>;
}

export const UNBOUND_IMMEDIATE = 'pod has unbound immediate PersistentVolumeClaims';

export function podVolumes(pod: Pod, lookups: VolumeLookups): PodVolumes | { problem: string } {
  const found: PodVolumes = {
    existing: [],
    volumeGone: false,
    delayed: [],
    allBound: true,
    byDriver: new Map(),
    exclusiveClaims: [],
  };
  for (const volume of pod.spec.volumes ?? []) {
    const { driver, volumeHandle } = volume.csi ?? {};
    if (driver && volumeHandle) addCsi(found, { driver, volumeHandle });
    const claimName = claimNameOf(pod, volume);
    if (claimName === undefined) continue;
    const key = `${pod.metadata.namespace}/${claimName}`;
    const claim = lookups.claim(key);
    const problem = claim ? claimProblem(pod, volume, claim) : claimMissing(volume, claimName);
    if (problem !== undefined) return { problem };
    const stuck = claim && addClaim(found, claim, lookups);
    if (stuck !== undefined) return { problem: stuck };
  }
  found.delayed.sort((a, b) => Number(a.sizeBytes - b.sizeBytes));
  return found;
}

function claimMissing({ ephemeral }: PodVolume, claimName: string): string {
  return ephemeral
    ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${claimName}"`
    : `persistentvolumeclaim "${claimName}" not found`;
}

function claimProblem(pod: Pod, { ephemeral }: PodVolume, claim: PersistentVolumeClaim): string | undefined {
  const { name } = claim.metadata;
  if (claim.status?.phase === 'Lost') {
    return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec.volumeName ?? ''}"`;
  }
  if (claim.metadata.deletionTimestamp) return `persistentvolumeclaim "${name}" is being deleted`;
  if (ephemeral && !isMadeFor(claim, pod)) {
    return `PVC ${keyOf(claim)} was not created for pod ${keyOf(pod)} (pod is not owner)`;
  }
  return undefined;
}

/** Returns what makes the pod unschedulable on every node. */
function addClaim(
  found: PodVolumes,
  claim: PersistentVolumeClaim,
  lookups: VolumeLookups,
): string | undefined {
  const key = keyOf(claim);
  if (claim.spec.accessModes?.includes('ReadWriteOncePod')) found.exclusiveClaims.push(key);
  if (isBound(claim)) {
    const volume = lookups.volume(claim.spec.volumeName ?? '');
    if (volume) addExisting(found, volume);
    else found.volumeGone = true;
    return undefined;
  }
  found.allBound = false;
  // The user chose the volume, or the claim has no class: the binder binds it without a pod.
  const className = storageClassOf(claim) ?? '';
  if (claim.spec.volumeName || className === '') return UNBOUND_IMMEDIATE;
  const storageClass = lookups.storageClass(className);
  if (!storageClass) return `storageclass.storage.k8s.io "${className}" not found`;
  if (storageClass.volumeBindingMode !== 'WaitForFirstConsumer') return UNBOUND_IMMEDIATE;
  // As the binder matches: a reserved volume that is too small, for example, is never bound.
  const reserved = matchVolume(claim, lookups.reservedFor(key));
  if (reserved) {
    addExisting(found, reserved);
    return undefined;
  }
  const sizeBytes = quantityToBytes(claim.spec.resources?.requests?.storage ?? '0');
  const allowed = allowedTerms(storageClass);
  found.delayed.push({ key, claim, storageClass, sizeBytes, allowed, selectedNode: selectedNodeOf(claim) });
  addTo(found.byDriver, storageClass.provisioner as DriverName, claimVolume(key));
  return undefined;
}

function addExisting(found: PodVolumes, volume: PersistentVolume): void {
  found.existing.push(volume);
  if (volume.spec.csi) addCsi(found, volume.spec.csi);
}

function addCsi({ byDriver }: PodVolumes, csi: Parameters<typeof volumeNamesOf>[0]): void {
  const names = volumeNamesOf(csi);
  addTo(byDriver, names.driver, countedVolume(names));
}

export function addTo(
  byDriver: Map<DriverName, Set<CountedVolume>>,
  driver: DriverName,
  volume: CountedVolume,
): void {
  const volumes = byDriver.get(driver);
  if (volumes) volumes.add(volume);
  else byDriver.set(driver, new Set([volume]));
}

/** An unbound claim counts as the volume that will be created for it. */
export const claimVolume = (claimKey: string) => `claim:${claimKey}` as CountedVolume;

export const countedVolume = ({ driver, volumeHandle }: VolumeNames) =>
  uniqueVolumeName(driver, volumeHandle) as CountedVolume;

function allowedTerms({ allowedTopologies = [] }: StorageClass): NodeSelectorTerm[] {
  return allowedTopologies.map(({ matchLabelExpressions = [] }) => ({
    matchExpressions: matchLabelExpressions.map(({ key, values }) => ({ key, operator: 'In', values })),
  }));
}

/** Both sides of the binding are complete. */
export function isBound(claim: PersistentVolumeClaim): boolean {
  return Boolean(claim.spec.volumeName) && claim.metadata.annotations?.[ANN_BIND_COMPLETED] !== undefined;
}
