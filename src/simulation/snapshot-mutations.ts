// The deliberate bugs in what has to do with snapshots.

import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeGroupSnapshotContents,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../api/kinds.ts';
import type { Metadata } from '../api/object.ts';
import {
  ANN_GROUP_SNAPSHOT_BEING_CREATED,
  ANN_SNAPSHOT_BEING_CREATED,
  FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE,
  FINALIZER_SNAPSHOT_SOURCE_PROTECTION,
} from '../api/well-known.ts';
import { type Mutation, onCall, seenAs, strip } from './mutation.ts';

export const SNAPSHOT_MUTATIONS = {
  'snapshot-not-recorded': {
    what: 'the snapshotter calls CreateSnapshot before the record of the call is stored',
    rule: 'finalizer-early',
    process: 'snapshotter',
    kube: (inner) => ({
      ...inner,
      update: (resource, object, options) => inner.update(resource, withoutRecord(object), options),
      patch: (resource, name, patch, options) =>
        inner.patch(resource, name, withoutRecord(patch as { metadata?: Partial<Metadata> }), options),
    }),
  },
  'snapshot-renamed-on-retry': {
    what: 'a CreateSnapshot that is repeated asks under a new name',
    rule: 'volume-name',
    process: 'snapshotter',
    csi(inner) {
      const tries = new Map<unknown, number>();
      return onCall(inner, 'CreateSnapshot', (request, next) => {
        const count = (tries.get(request.name) ?? 0) + 1;
        tries.set(request.name, count);
        return next(count === 1 ? request : { ...request, name: `${request.name}-${count}` });
      });
    },
  },
  'snapshot-delete-not-sent': {
    what: 'the snapshotter takes DeleteSnapshot for done without asking',
    rule: 'finalizer-early',
    process: 'snapshotter',
    csi: (inner) => onCall(inner, 'DeleteSnapshot', async () => ({})),
  },
  'group-delete-not-sent': {
    what: 'the snapshotter takes DeleteVolumeGroupSnapshot for done without asking',
    rule: 'finalizer-early',
    process: 'snapshotter',
    csi: (inner) => onCall(inner, 'DeleteVolumeGroupSnapshot', async () => ({})),
  },
  'snapshot-ready-at-once': {
    what: 'the snapshotter takes a snapshot for ready as soon as it is cut',
    rule: 'ready-early',
    process: 'snapshotter',
    csi: (inner) =>
      onCall(inner, 'CreateSnapshot', async (request, next) => {
        const { snapshot } = (await next(request)) as { snapshot: object };
        return { snapshot: { ...snapshot, readyToUse: true } };
      }),
  },
  'retained-snapshot-deleted': {
    what: 'the snapshotter takes every deletion policy for Delete',
    rule: 'deleted-retained',
    process: 'snapshot',
    kube(inner) {
      const deletable = (content: VolumeSnapshotContent): VolumeSnapshotContent => ({
        ...content,
        spec: { ...content.spec, deletionPolicy: 'Delete' },
      });
      return {
        ...seenAs<VolumeSnapshotContent>(inner, volumeSnapshotContents, deletable),
        // The answer to its own write shows the same policy.
        async patch(resource, name, patch, options) {
          const answer = await inner.patch(resource, name, patch, options);
          const isContent = resource.plural === volumeSnapshotContents.plural;
          return isContent ? (deletable(answer as unknown as VolumeSnapshotContent) as never) : answer;
        },
      };
    },
  },
  'restored-empty': {
    what: 'the provisioner makes the volume of a claim without the snapshot that it restores',
    rule: 'restore',
    process: 'provisioner',
    csi: (inner) =>
      onCall(inner, 'CreateVolume', async (request, next) => {
        const { volumeContentSource, ...rest } = request;
        const { volume } = (await next(rest)) as { volume: object };
        return { volume: { ...volume, contentSource: volumeContentSource } };
      }),
  },
  'restored-snapshot-unprotected': {
    what: 'the snapshot controller does not look whether a volume is being made from a snapshot',
    rule: 'restore',
    process: 'snapshot-controller',
    kube: (inner) =>
      seenAs<VolumeSnapshot>(
        seenAs<PersistentVolumeClaim>(inner, persistentVolumeClaims, ({ spec, ...claim }) => {
          const { dataSource: _, dataSourceRef: __, ...others } = spec;
          return { ...claim, spec: others };
        }),
        volumeSnapshots,
        (snapshot) => {
          const { finalizers } = snapshot.metadata;
          // Others stay as they are: the controller compares the whole list when it patches.
          if (!finalizers?.includes(FINALIZER_SNAPSHOT_SOURCE_PROTECTION)) return snapshot;
          const others = finalizers.filter((each) => each !== FINALIZER_SNAPSHOT_SOURCE_PROTECTION);
          return { ...snapshot, metadata: { ...snapshot.metadata, finalizers: others } };
        },
      ),
  },
  'snapshot-source-unprotected': {
    what: 'a claim loses its protection while a snapshot of it is being cut',
    rule: 'cut-source',
    start: (world) => strip(world, persistentVolumeClaims as never, FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE),
  },
  'group-member-forgotten': {
    what: 'the snapshot controller forgets the last member of a group snapshot',
    rule: 'half-group',
    process: 'snapshot-controller',
    kube: (inner) =>
      seenAs<VolumeGroupSnapshotContent>(inner, volumeGroupSnapshotContents, (content) => {
        const { status, spec } = content;
        if (!status?.volumeSnapshotInfoList) return content;
        const volumeHandles = spec.source.volumeHandles?.slice(0, -1) ?? [];
        const volumeSnapshotInfoList = status.volumeSnapshotInfoList.slice(0, -1);
        return {
          ...content,
          spec: { ...spec, source: { ...spec.source, volumeHandles } },
          status: { ...status, volumeSnapshotInfoList },
        };
      }),
  },
} as const satisfies Record<string, Mutation>;

/** Without the annotation that says that the driver is about to be called. */
function withoutRecord<T extends { metadata?: Partial<Metadata> }>(object: T): T {
  const { annotations } = object.metadata ?? {};
  if (!annotations) return object;
  const { [ANN_SNAPSHOT_BEING_CREATED]: _, [ANN_GROUP_SNAPSHOT_BEING_CREATED]: __, ...others } = annotations;
  return { ...object, metadata: { ...object.metadata, annotations: others } };
}
