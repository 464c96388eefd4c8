// The objects that the users of a simulated cluster create.

import {
  type PersistentVolumeClaim,
  type Pod,
  type StatefulSet,
  type VolumeGroupSnapshot,
  type VolumeSnapshot,
  volumeSnapshots,
} from '../api/kinds.ts';
import type { Draft } from '../api/object.ts';
import { ANN_SELECTED_NODE } from '../api/well-known.ts';
import type { UserAction } from './plan.ts';
import { setOf } from './plan-snapshots.ts';
import { existingHandle, MOST_GIB } from './storage-backend.ts';

export const NAMESPACE = 'default';

const LABEL_SET = 'set';

type Doing<K extends UserAction['do']> = Extract<UserAction, { do: K }>;

/** `from`: the snapshot that it restores. Such a claim is large enough for whatever its source has grown to. */
export function claimDraft(action: Doing<'create-claim'>, from?: string): Draft<PersistentVolumeClaim> {
  const { name, className, mode, selected, isBlock } = action;
  return {
    metadata: {
      name,
      namespace: NAMESPACE,
      labels: { [LABEL_SET]: setOf(name) },
      ...(selected && { annotations: { [ANN_SELECTED_NODE]: selected } }),
    },
    spec: {
      ...claimSpec(className, mode, from === undefined ? 1 : MOST_GIB),
      ...(isBlock && { volumeMode: 'Block' }),
      ...(from !== undefined && {
        dataSource: { apiGroup: volumeSnapshots.group, kind: volumeSnapshots.kind, name: from },
      }),
    },
  };
}

export function snapshotDraft({ name, claim, className }: Doing<'create-snapshot'>): Draft<VolumeSnapshot> {
  return {
    metadata: { name, namespace: NAMESPACE },
    spec: { source: { persistentVolumeClaimName: claim }, volumeSnapshotClassName: className },
  };
}

export function groupDraft({ name, set, className }: Doing<'create-group'>): Draft<VolumeGroupSnapshot> {
  return {
    metadata: { name, namespace: NAMESPACE },
    spec: {
      source: { selector: { matchLabels: { [LABEL_SET]: set } } },
      volumeGroupSnapshotClassName: className,
    },
  };
}

function claimSpec(className: string, mode: string, gib = 1): PersistentVolumeClaim['spec'] {
  return {
    accessModes: [mode],
    storageClassName: className,
    resources: { requests: { storage: `${gib}Gi` } },
  } as PersistentVolumeClaim['spec'];
}

export function podDraft(action: Doing<'create-pod'>): Draft<Pod> {
  return {
    metadata: { name: action.name, namespace: NAMESPACE },
    spec: {
      containers: [{ name: 'main', image: 'none' }],
      ...(action.pinned && { nodeName: action.pinned }),
      ...(action.node && { nodeSelector: { 'kubernetes.io/hostname': action.node } }),
      volumes: [
        ...action.claims.map((claimName, index) => ({
          name: `v${index}`,
          persistentVolumeClaim: { claimName, ...(action.readOnly && { readOnly: true }) },
        })),
        ...(action.existing
          ? [
              {
                name: 'existing',
                csi: { driver: action.existing, volumeHandle: existingHandle(action.existing) },
              },
            ]
          : []),
        ...(action.inline ? [{ name: 'inline', csi: { driver: action.inline } }] : []),
        ...(action.ephemeral
          ? [
              {
                name: 'scratch',
                ephemeral: { volumeClaimTemplate: { spec: claimSpec(action.ephemeral, 'ReadWriteOnce') } },
              },
            ]
          : []),
      ],
    },
  } as Draft<Pod>;
}

export function setDraft({ name, className, replicas }: Doing<'create-set'>): Draft<StatefulSet> {
  const labels = { app: name };
  return {
    metadata: { name, namespace: NAMESPACE },
    spec: {
      serviceName: name,
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'main', image: 'none' }] },
      },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimSpec(className, 'ReadWriteOnce') }],
    },
  } as unknown as Draft<StatefulSet>;
}
