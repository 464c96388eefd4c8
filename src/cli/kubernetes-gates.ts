// The feature gates of Kubernetes' own programs, one table for all of them as there: defaults and stages are those of 1.36.

import { featureGatesFlag } from '../runtime/flags/feature-gates.ts';

export const kubernetesGates = featureGatesFlag({
  SELinuxMountReadWriteOncePod: {
    default: true,
    stage: 'stable',
    locked: true,
    help: "Nodes mount ReadWriteOncePod volumes with the pod's SELinux label, where host and driver support it",
  },
  SELinuxMount: {
    default: false,
    stage: 'beta',
    help: 'The same for volumes of all access modes',
  },
  StorageCapacityScoring: {
    default: false,
    stage: 'alpha',
    help: 'The scheduler prefers nodes that have much published capacity left',
  },
  PersistentVolumeClaimUnusedSinceTime: {
    default: false,
    stage: 'alpha',
    help: 'Claims have a condition Unused, which says since when no pod uses them',
  },
});
