// A volume as the node mounts it: from a PersistentVolume, or from a pod's inline `csi` volume, persistent or
// ephemeral. Pure.

import { inlineMode } from '../../api/inline-volumes.ts';
import type {
  CSIDriver,
  CSIVolumeSource,
  NodeSelectorTerm,
  PersistentVolume,
  Pod,
  PodVolume,
} from '../../api/kinds.ts';
import { ephemeralVolumeHandle, uniqueVolumeName } from '../../api/volumes.ts';
import {
  type DriverName,
  driverNameProblem,
  parseVolumeHandle,
  type VolumeHandle,
} from '../../csi/names/driver-name.ts';

export interface SecretKey {
  name: string;
  namespace: string;
}

export interface MountableVolume {
  driver: DriverName;
  handle: VolumeHandle;
  /** The name of its directory in the pod's: that of the PersistentVolume, or of the inline volume. */
  specName: string;
  lifecycle: 'Persistent' | 'Ephemeral';
  block: boolean;
  attributes: Readonly<Record<string, string>>;
  fsType: string;
  accessModes: readonly string[];
  mountOptions: readonly string[];
  /** Read-only for every pod. */
  readOnly: boolean;
  secrets: { stage?: SecretKey; publish?: SecretKey; expand?: SecretKey };
  /** The source in its VolumeAttachment; absent for volumes that are never attached. */
  attachedAs?: { pvName: string } | { inlineIn: string };
  /** The PersistentVolume's required node affinity: the node must match one of these. Absent: any node. */
  requiredNodes?: readonly NodeSelectorTerm[];
  /** Capacity of the PersistentVolume, as a quantity. */
  capacity?: string;
  /** The SELinux label of all its files for this pod: the mount option `context`. */
  seLinuxLabel?: string;
}

/** The volume cannot be mounted as declared; the message says why and is suitable for events. */
export class VolumeSpecError extends Error {
  override readonly name = 'VolumeSpecError';
}

/** The key of a volume on this node: operations are serialized by it. */
export function volumeKeyOf({ driver, handle }: Pick<MountableVolume, 'driver' | 'handle'>): string {
  return uniqueVolumeName(driver, handle);
}

export function fromPersistentVolume({ metadata, spec }: PersistentVolume): MountableVolume {
  const { csi } = spec;
  const what = `PersistentVolume ${metadata.name}`;
  if (!csi) throw new VolumeSpecError(`${what} is not a CSI volume, and this node mounts nothing else`);
  const driver = checkedName(what, csi.driver);
  if (!csi.volumeHandle) throw new VolumeSpecError(`${what} has no volumeHandle`);
  const secrets: MountableVolume['secrets'] = {};
  const add = (use: keyof MountableVolume['secrets'], ref?: { name?: string; namespace?: string }) => {
    if (ref) secrets[use] = { name: ref.name ?? '', namespace: ref.namespace ?? '' };
  };
  add('stage', csi.nodeStageSecretRef);
  add('publish', csi.nodePublishSecretRef);
  add('expand', csi.nodeExpandSecretRef);
  return {
    driver,
    handle: parseVolumeHandle(csi.volumeHandle),
    specName: metadata.name,
    lifecycle: 'Persistent',
    block: spec.volumeMode === 'Block',
    attributes: csi.volumeAttributes ?? {},
    fsType: csi.fsType ?? '',
    accessModes: spec.accessModes ?? [],
    mountOptions: spec.mountOptions ?? [],
    readOnly: csi.readOnly ?? false,
    secrets,
    attachedAs: { pvName: metadata.name },
    ...(spec.nodeAffinity?.required && { requiredNodes: spec.nodeAffinity.required.nodeSelectorTerms ?? [] }),
    ...(spec.capacity?.storage && { capacity: spec.capacity.storage }),
  };
}

/**
 * `object` is the CSIDriver object, if there is one; its volumeLifecycleModes decide which inline volumes are allowed.
 */
export function fromInlineVolume(
  pod: Pod,
  volume: PodVolume & { csi: CSIVolumeSource },
  object: CSIDriver | undefined,
): MountableVolume {
  const { csi } = volume;
  const what = `volume ${volume.name}`;
  const driver = checkedName(what, csi.driver);
  const mode = inlineMode(csi, object);
  if (typeof mode === 'object') throw new VolumeSpecError(`${what}: ${mode.problem}`);
  const namespace = pod.metadata.namespace ?? '';
  const secret = (ref: { name?: string } | undefined): SecretKey | undefined =>
    ref && { name: ref.name ?? '', namespace };
  const publish = secret(csi.nodePublishSecretRef);
  const stage = mode === 'Persistent' ? secret(csi.nodeStageSecretRef) : undefined;
  const persistent = mode === 'Persistent' && csi.volumeHandle;
  return {
    driver,
    handle: parseVolumeHandle(persistent || ephemeralVolumeHandle(pod.metadata.uid, volume.name)),
    specName: volume.name,
    lifecycle: mode,
    block: false,
    attributes: csi.volumeAttributes ?? {},
    fsType: csi.fsType ?? '',
    accessModes: ['ReadWriteOnce'],
    mountOptions: [],
    readOnly: csi.readOnly ?? false,
    secrets: { ...(publish && { publish }), ...(stage && { stage }) },
    ...(persistent && { attachedAs: { inlineIn: namespace } }),
  };
}

function checkedName(what: string, name: string): DriverName {
  const problem = driverNameProblem(name);
  if (problem === undefined) return name as DriverName;
  throw new VolumeSpecError(
    `${what}: driver name ${JSON.stringify(name.slice(0, 100))} is refused: ${problem}`,
  );
}
