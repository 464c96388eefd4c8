// Resolves a pod's spec to its volumes: reads claims and PersistentVolumes, decides nothing about mounting. Volumes
// that are neither CSI nor a claim are not mounted; other-volumes.ts says whether the pod has to wait for them.

import {
  type CSIDriver,
  type PersistentVolumeClaim,
  type Pod,
  type PodVolume,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../api/kinds.ts';
import { claimNameOf, refersToClaim } from '../../api/volumes.ts';
import {
  fromInlineVolume,
  fromPersistentVolume,
  VolumeSpecError,
} from '../../csi-plugin/mount/mountable-volume.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isForbidden, isNotFound } from '../../runtime/kube/kube-error.ts';
import type { DesiredMount } from './desired-state.ts';
import { otherVolumeProblem } from './other-volumes.ts';

export interface VolumeProblem {
  /** Why the volume is not known yet. */
  why: string;
  /** The same, for an event. */
  event: string;
}

/** Result for a volume that is not CSI. */
class OtherVolumeError extends VolumeSpecError {}

export interface Resolution {
  mounts: Map<string, DesiredMount>;
  /** The claims of the mounts, by key, as read. */
  claims: Map<string, PersistentVolumeClaim>;
  /** By volume name. */
  problems: Map<string, VolumeProblem>;
}

export interface ResolvePorts {
  kube: Pick<KubeClient, 'get'>;
  driverObject(name: string): CSIDriver | undefined;
  /** The SELinux label with which the volume is mounted for this pod, if any. */
  seLinuxLabel(mount: DesiredMount): string | undefined;
}

export async function resolveVolumes(
  ports: ResolvePorts,
  pod: Pod,
  signal: AbortSignal,
): Promise<Resolution> {
  const resolution: Resolution = { mounts: new Map(), claims: new Map(), problems: new Map() };
  for (const volume of pod.spec.volumes ?? []) {
    try {
      const found = await resolveOne(ports, pod, volume, signal);
      if (found) addMount(resolution.mounts, found.mount);
      if (found?.claim && found.mount.claimKey) resolution.claims.set(found.mount.claimKey, found.claim);
    } catch (error) {
      signal.throwIfAborted();
      resolution.problems.set(volume.name, problemOf(volume.name, error));
    }
  }
  for (const [specName, mount] of resolution.mounts) {
    try {
      const seLinuxLabel = ports.seLinuxLabel(mount);
      if (seLinuxLabel !== undefined)
        resolution.mounts.set(specName, { ...mount, volume: { ...mount.volume, seLinuxLabel } });
    } catch (error) {
      resolution.mounts.delete(specName);
      const [name = ''] = mount.volumeNames;
      resolution.problems.set(name, problemOf(name, error));
    }
  }
  return resolution;
}

function problemOf(name: string, error: unknown): VolumeProblem {
  const why = errorMessage(error);
  const event =
    error instanceof OtherVolumeError
      ? `MountVolume.SetUp failed for volume "${name}" : ${why}`
      : `Unable to attach or mount volume "${name}": ${why}`;
  return { why, event };
}

async function resolveOne(
  ports: ResolvePorts,
  pod: Pod,
  volume: PodVolume,
  signal: AbortSignal,
): Promise<{ mount: DesiredMount; claim?: PersistentVolumeClaim } | undefined> {
  const volumeNames = [volume.name];
  if (volume.csi) {
    const { csi } = volume;
    const mountable = fromInlineVolume(pod, { ...volume, csi }, ports.driverObject(csi.driver));
    checkUse(pod, volume, mountable.block);
    return { mount: { pod, volumeNames, volume: mountable, readOnly: csi.readOnly ?? false } };
  }
  const claimName = claimNameOf(pod, volume);
  if (claimName === undefined) {
    const problem = await otherVolumeProblem(ports.kube, pod, volume, signal);
    if (problem !== undefined) throw new OtherVolumeError(problem);
    return undefined;
  }
  const claim = await readClaim(ports, pod, volume, claimName, signal);
  const claimKey = `${pod.metadata.namespace}/${claimName}`;
  const pv = await readVolume(ports, claim, claimKey, signal);
  const mountable = fromPersistentVolume(pv);
  checkUse(pod, volume, mountable.block);
  const readOnly = volume.persistentVolumeClaim?.readOnly ?? false;
  return { mount: { pod, volumeNames, volume: mountable, readOnly, claimKey }, claim };
}

async function readClaim(
  ports: ResolvePorts,
  pod: Pod,
  volume: PodVolume,
  claimName: string,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim> {
  const namespace = pod.metadata.namespace ?? '';
  const label = `${namespace}/${claimName}`;
  let claim: PersistentVolumeClaim;
  try {
    claim = await ports.kube.get(persistentVolumeClaims, { name: claimName, namespace }, { signal });
  } catch (error) {
    if (isNotFound(error)) throw new VolumeSpecError(`claim ${label} does not exist; waiting for it`);
    throw error;
  }
  if (volume.ephemeral && !claim.metadata.ownerReferences?.some((owner) => owner.uid === pod.metadata.uid)) {
    throw new VolumeSpecError(
      `claim ${label} was not made for this pod, though its name is that of the pod's ephemeral volume; rename one of them`,
    );
  }
  if (claim.metadata.deletionTimestamp && pod.status?.phase !== 'Running') {
    throw new VolumeSpecError(`claim ${label} is being deleted`);
  }
  if (!claim.spec.volumeName || claim.status?.phase !== 'Bound') {
    throw new VolumeSpecError(`claim ${label} is not bound to a PersistentVolume yet; waiting for it`);
  }
  return claim;
}

async function readVolume(
  ports: ResolvePorts,
  claim: PersistentVolumeClaim,
  claimKey: string,
  signal: AbortSignal,
) {
  const name = claim.spec.volumeName ?? '';
  try {
    const pv = await ports.kube.get(persistentVolumes, { name }, { signal });
    if (refersToClaim(pv.spec.claimRef, claim)) return pv;
    throw new VolumeSpecError(
      `claim ${claimKey} names PersistentVolume ${name}, which belongs to another claim; waiting for the binder to settle it`,
    );
  } catch (error) {
    // A node may read a PersistentVolume only once its claimRef is a claim of one of its pods.
    if (isNotFound(error) || isForbidden(error)) {
      throw new VolumeSpecError(
        `PersistentVolume ${name} of claim ${claimKey} does not exist or does not name that claim; waiting for it`,
      );
    }
    throw error;
  }
}

/** A volume with two names in the pod is mounted once; writable if either is writable. */
function addMount(mounts: Map<string, DesiredMount>, found: DesiredMount): void {
  const { specName, driver, handle } = found.volume;
  const known = mounts.get(specName);
  if (!known) {
    mounts.set(specName, found);
    return;
  }
  if (known.volume.driver !== driver || known.volume.handle !== handle) {
    throw new VolumeSpecError(
      `an inline volume and a PersistentVolume of this pod are both called ${specName} and would share one directory; rename the inline one`,
    );
  }
  mounts.set(specName, {
    ...known,
    volumeNames: [...known.volumeNames, ...found.volumeNames],
    readOnly: known.readOnly && found.readOnly,
  });
}

function checkUse(pod: Pod, volume: PodVolume, block: boolean): void {
  for (const container of [...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])]) {
    const isMounted = container.volumeMounts?.some(({ name }) => name === volume.name);
    const isDevice = container.volumeDevices?.some(({ name }) => name === volume.name);
    if (block && isMounted) {
      throw new VolumeSpecError(
        `volume ${volume.name} is a raw block device, but container ${container.name} has it in volumeMounts; use volumeDevices`,
      );
    }
    if (!block && isDevice) {
      throw new VolumeSpecError(
        `volume ${volume.name} has a filesystem, but container ${container.name} has it in volumeDevices; use volumeMounts`,
      );
    }
  }
}
