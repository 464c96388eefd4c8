// The SELinux label with which a volume is mounted for a pod, by the kubelet's rules: the driver supports it
// (`seLinuxMount`), the access mode is ReadWriteOncePod alone (with the gate SELinuxMount any), and all containers that
// mount the volume have the same label. Pure.

import type { CSIDriver, Pod } from '../../api/kinds.ts';
import { type MountableVolume, VolumeSpecError } from '../../csi-plugin/mount/mountable-volume.ts';
import type { SELinux } from './host-selinux.ts';

interface SELinuxOptions {
  user?: string;
  role?: string;
  type?: string;
  level?: string;
}

export interface MountLabelFacts {
  pod: Pod;
  volume: MountableVolume;
  /** The volume's names in the pod. */
  volumeNames: readonly string[];
  driver: CSIDriver | undefined;
  selinux: SELinux | undefined;
  /** The gate SELinuxMount: for every access mode. */
  everyAccessMode: boolean;
}

/** Undefined: the volume is mounted without the option, and files are relabelled by the container runtime. */
export function mountLabel(facts: MountLabelFacts): string | undefined {
  const { pod, volume, volumeNames, driver, selinux, everyAccessMode } = facts;
  const isPersistent = volume.attachedAs !== undefined && 'pvName' in volume.attachedAs;
  if (selinux === undefined || !isPersistent || driver?.spec.seLinuxMount !== true) return undefined;
  const isExclusive = volume.accessModes.length === 1 && volume.accessModes[0] === 'ReadWriteOncePod';
  if (!isExclusive && !everyAccessMode) return undefined;
  const context = pod.spec.securityContext as { seLinuxChangePolicy?: string } | undefined;
  if (context?.seLinuxChangePolicy === 'Recursive') return undefined;
  const labels = new Set(optionsOf(pod, volumeNames).map((options) => fileLabel(options, selinux)));
  if (labels.size > 1) {
    const texts = [...labels].map((label) => label ?? 'one of its own choice');
    throw new VolumeSpecError(
      `multiple SELinux labels found for volume ${volumeNames.join(', ')}: ${texts.join(' and ')}; give all containers ` +
        'that mount it the same seLinuxOptions, or set seLinuxChangePolicy: Recursive in the pod',
    );
  }
  const [label] = labels;
  return label;
}

/** Of each container that mounts the volume and has any, from itself or from the pod. */
function optionsOf({ spec }: Pod, volumeNames: readonly string[]): SELinuxOptions[] {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  return [...containers, ...initContainers, ...ephemeralContainers]
    .filter(({ volumeMounts }) => volumeMounts?.some(({ name }) => volumeNames.includes(name)))
    .map(
      ({ securityContext }) => securityContext?.seLinuxOptions ?? spec.securityContext?.seLinuxOptions ?? {},
    )
    .filter(({ user, role, type, level }) => user || role || type || level);
}

/**
 * As container runtimes do: the policy's label for files, with the user and level of the container. Without a level the
 * runtime chooses one at random, which nobody else knows.
 */
function fileLabel({ user, level }: SELinuxOptions, selinux: SELinux): string | undefined {
  if (!level) return undefined;
  const [defaultUser = '', role = '', type = ''] = selinux.fileLabel.split(':');
  return [user || defaultUser, role, type, level].join(':');
}
