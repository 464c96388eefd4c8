// The next steps for one volume, from its desired and its actual state. Pure. Unmount comes before mount, and an
// uncertain mount counts as mounted.

import type { MountableVolume } from '../../csi-plugin/mount/mountable-volume.ts';
import type { ActualMount, ActualVolume } from './actual-state.ts';
import type { DesiredMount, DesiredPod } from './desired-state.ts';

export type Step =
  | { kind: 'tear-down'; id: string; mount: ActualMount }
  | { kind: 'unmount-device'; id: string }
  | { kind: 'mount-device'; id: string; mount: DesiredMount }
  | { kind: 'set-up'; id: string; mount: DesiredMount; again: boolean }
  | { kind: 'expand'; id: string; mount: DesiredMount; capacity: string }
  | WaitForPod;

type Misfit = 'label' | 'place';

export interface WaitForPod {
  kind: 'wait-for-pod';
  id: string;
  mount: DesiredMount;
  otherPodUid: string;
  /** The other pod has it alone (ReadWriteOncePod), with another SELinux label, or staged at another place. */
  because: 'exclusive' | Misfit;
}

export interface MountFacts {
  desired: ReadonlyMap<string, DesiredMount>;
  actual: ActualVolume | undefined;
  /** Undefined for pods that are deleted or terminated. */
  podOf: (uid: string) => Pick<DesiredPod, 'resolved' | 'mounts'> | undefined;
  isPopulated: boolean;
  /** Whether requiresRepublish asks for another NodePublishVolume now. */
  isRepublishDue: (mount: ActualMount) => boolean;
  /** Whether its driver stages this volume. */
  needsStaging: (volume: MountableVolume) => boolean;
  /** The size for NodeExpandVolume; undefined when no expansion is due. */
  growsTo: (mount: DesiredMount) => string | undefined;
}

/** In order. A step keeps its `id` as long as it stays the same step. */
export function decideVolume(facts: MountFacts): Step[] {
  const { desired, actual } = facts;
  const mounts = [...(actual?.mounts ?? new Map<string, ActualMount>())];
  const surplus = mounts.filter(([key, mount]) => !desired.has(key) && isSurplus(mount, facts));
  const steps: Step[] = surplus.map(([key, mount]) => ({ kind: 'tear-down', id: `tear-down ${key}`, mount }));
  if (desired.size === 0) {
    const isFree = mounts.length === 0 && facts.isPopulated;
    if (isFree && actual && actual.device !== 'unmounted') {
      steps.push({ kind: 'unmount-device', id: 'unmount-device' });
    }
    return steps;
  }
  for (const [key, mount] of desired) {
    const current = actual?.mounts.get(key);
    if (current?.state === 'mounted') {
      const isDue = facts.isRepublishDue(current);
      const capacity = facts.growsTo(mount);
      if ((isDue || capacity !== undefined) && lacksStaging(mount, facts)) {
        steps.push({ kind: 'mount-device', id: 'mount-device', mount });
        continue;
      }
      if (isDue) steps.push({ kind: 'set-up', id: `republish ${key}`, mount, again: true });
      if (capacity !== undefined) steps.push({ kind: 'expand', id: `expand ${capacity}`, mount, capacity });
      continue;
    }
    const rival = exclusiveRival(key, mount, mounts);
    if (rival !== undefined) {
      const id = `wait-for-pod ${key}`;
      steps.push({ kind: 'wait-for-pod', id, mount, otherPodUid: rival, because: 'exclusive' });
      continue;
    }
    const because = actual && misfit(actual, mount, facts);
    if (actual && because) {
      const otherPodUid = userAsStaged(actual, facts);
      const id = `wait-for-pod ${key}`;
      if (otherPodUid === undefined) steps.push({ kind: 'unmount-device', id: 'unmount-device' });
      else steps.push({ kind: 'wait-for-pod', id, mount, otherPodUid, because });
      continue;
    }
    const isDeviceMounted = actual?.device === 'mounted' && !lacksStaging(mount, facts);
    if (mount.volume.lifecycle === 'Persistent' && !isDeviceMounted) {
      steps.push({ kind: 'mount-device', id: 'mount-device', mount });
      continue;
    }
    steps.push({ kind: 'set-up', id: `set-up ${key}`, mount, again: false });
  }
  return steps;
}

/** Its pod is deleted, or is resolved and does not use the volume. */
function isSurplus(mount: ActualMount, { podOf, isPopulated }: MountFacts): boolean {
  if (!isPopulated) return false;
  const pod = podOf(mount.podUid);
  return pod === undefined || (pod.resolved && !pod.mounts.has(mount.volume.specName));
}

/** Its driver came back with the capability to stage: then every other call names what it has staged. */
function lacksStaging({ volume }: DesiredMount, { actual, needsStaging }: MountFacts): boolean {
  return actual?.isUnstaged === true && needsStaging(volume);
}

/** ReadWriteOncePod: the pod that has the volume mounted. */
function exclusiveRival(
  key: string,
  { volume }: DesiredMount,
  mounts: readonly (readonly [string, ActualMount])[],
): string | undefined {
  if (!volume.accessModes.includes('ReadWriteOncePod')) return undefined;
  return mounts.find(([other]) => other !== key)?.[1].podUid;
}

/**
 * Why this pod cannot use what is staged: a filesystem has one SELinux label for all its mounts, and a block volume is
 * staged at a place that is named after its PersistentVolume.
 */
function misfit(
  { device, volume: staged, isUnstaged }: ActualVolume,
  { volume }: DesiredMount,
  { needsStaging }: Pick<MountFacts, 'needsStaging'>,
): Misfit | undefined {
  if (device === 'unmounted') return undefined;
  if (staged.seLinuxLabel !== volume.seLinuxLabel) return 'label';
  if (isUnstaged && !needsStaging(volume)) return undefined;
  const isElsewhere = staged.block !== volume.block || (volume.block && staged.specName !== volume.specName);
  return isElsewhere ? 'place' : undefined;
}

/** The pod that uses the volume as it is staged now, or will. */
function userAsStaged(actual: ActualVolume, facts: MountFacts): string | undefined {
  const [mounted] = actual.mounts.values();
  if (mounted !== undefined) return mounted.podUid;
  const waiting = [...facts.desired.values()].find((other) => !misfit(actual, other, facts));
  return waiting?.pod.metadata.uid;
}
