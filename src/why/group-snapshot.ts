// VolumeGroupSnapshot, as far as it is explained.

import type { SnapshotError } from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';

export type VolumeGroupSnapshot = KubeObject & {
  spec: {
    source: { selector?: { matchLabels?: Record<string, string> }; volumeGroupSnapshotContentName?: string };
    volumeGroupSnapshotClassName?: string;
  };
  status?: {
    boundVolumeGroupSnapshotContentName?: string;
    readyToUse?: boolean;
    error?: SnapshotError;
  };
};

export const volumeGroupSnapshots: Resource<VolumeGroupSnapshot> = {
  group: 'groupsnapshot.storage.k8s.io',
  version: 'v1',
  kind: 'VolumeGroupSnapshot',
  plural: 'volumegroupsnapshots',
  namespaced: true,
};
