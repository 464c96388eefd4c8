// Records each change of a volume's objects in the trace, with its author. The server reports what changed; the author is known for
// components whose client announces its writes (writes-under-way.ts).

import {
  type Event,
  events,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type VolumeAttachment,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeAttachments,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { type SnapshotHandle, volumeNamesOf } from '../csi/names/driver-name.ts';
import { describeChange } from './describe-change.ts';
import type { TraceBook } from './trace-book.ts';
import {
  type ApiEntry,
  attachmentToken,
  claimToken,
  contentToken,
  groupToken,
  handleToken,
  podToken,
  podUidToken,
  snapshotToken,
  type Token,
  volumeToken,
} from './trace-entry.ts';
import type { WritesUnderWay } from './writes-under-way.ts';

interface Followed<T extends KubeObject> {
  resource: Resource<T>;
  self(object: T): Token;
  links(object: T): Token[];
  /** The object that it refers to by UID, if it does. */
  owner?(object: T): { kind?: string; namespace?: string; name?: string; uid?: string } | undefined;
}

const followed = <T extends KubeObject>(kind: Followed<T>): Followed<KubeObject> =>
  kind as unknown as Followed<KubeObject>;

const FOLLOWED: readonly Followed<KubeObject>[] = [
  followed<PersistentVolumeClaim>({
    resource: persistentVolumeClaims,
    self: ({ metadata }) => claimToken(metadata.namespace ?? '', metadata.name),
    // The volume is called after the claim before it exists.
    links: ({ metadata, spec }) => [volumeToken(spec.volumeName || `pvc-${metadata.uid}`)],
  }),
  followed<PersistentVolume>({
    resource: persistentVolumes,
    self: ({ metadata }) => volumeToken(metadata.name),
    links: ({ spec }) => [
      ...(spec.csi ? [handleToken(volumeNamesOf(spec.csi).volumeHandle)] : []),
      ...(spec.claimRef ? [claimToken(spec.claimRef.namespace ?? '', spec.claimRef.name ?? '')] : []),
    ],
    owner: ({ spec }) => spec.claimRef && { ...spec.claimRef, kind: 'PersistentVolumeClaim' },
  }),
  followed<VolumeAttachment>({
    resource: volumeAttachments,
    self: ({ metadata }) => attachmentToken(metadata.name),
    links: ({ spec: { source } }) => [
      ...(source.persistentVolumeName ? [volumeToken(source.persistentVolumeName)] : []),
      ...(source.inlineVolumeSpec?.csi
        ? [handleToken(volumeNamesOf(source.inlineVolumeSpec.csi).volumeHandle)]
        : []),
    ],
  }),
  followed<Pod>({
    resource: pods,
    self: ({ metadata }) => podToken(metadata.namespace ?? '', metadata.name),
    links: ({ metadata, spec }) => [
      podUidToken(metadata.uid),
      ...(spec.volumes ?? []).flatMap(({ persistentVolumeClaim, ephemeral, name }) => {
        const claim = persistentVolumeClaim?.claimName ?? (ephemeral && `${metadata.name}-${name}`);
        return claim === undefined ? [] : [claimToken(metadata.namespace ?? '', claim)];
      }),
    ],
  }),
  followed<VolumeSnapshot>({
    resource: volumeSnapshots,
    self: ({ metadata }) => snapshotToken(metadata.namespace ?? '', metadata.name),
    links: ({ metadata, status }) => [
      // As the snapshotter calls it on the storage.
      volumeToken(`snapshot-${metadata.uid}`),
      ...(status?.boundVolumeSnapshotContentName
        ? [contentToken(status.boundVolumeSnapshotContentName)]
        : []),
      ...(status?.volumeGroupSnapshotName
        ? [groupToken(metadata.namespace ?? '', status.volumeGroupSnapshotName)]
        : []),
    ],
  }),
  followed<VolumeSnapshotContent>({
    resource: volumeSnapshotContents,
    self: ({ metadata }) => contentToken(metadata.name),
    links: ({ spec: { volumeSnapshotRef: ref }, status }) => [
      ...(ref.name ? [snapshotToken(ref.namespace ?? '', ref.name)] : []),
      ...(status?.snapshotHandle ? [handleToken(status.snapshotHandle as SnapshotHandle)] : []),
    ],
    owner: ({ spec }) => ({ ...spec.volumeSnapshotRef, kind: 'VolumeSnapshot' }),
  }),
  followed<VolumeGroupSnapshot>({
    resource: volumeGroupSnapshots,
    self: ({ metadata }) => groupToken(metadata.namespace ?? '', metadata.name),
    links: ({ metadata, status }) => [
      volumeToken(`groupsnapshot-${metadata.uid}`),
      ...(status?.boundVolumeGroupSnapshotContentName
        ? [contentToken(status.boundVolumeGroupSnapshotContentName)]
        : []),
    ],
  }),
  followed<VolumeGroupSnapshotContent>({
    resource: volumeGroupSnapshotContents,
    self: ({ metadata }) => contentToken(metadata.name),
    links: ({ spec: { volumeGroupSnapshotRef: ref }, status }) => [
      ...(ref.name ? [groupToken(ref.namespace ?? '', ref.name)] : []),
      ...(status?.volumeGroupSnapshotHandle
        ? [handleToken(status.volumeGroupSnapshotHandle as SnapshotHandle)]
        : []),
    ],
    owner: ({ spec }) => ({ ...spec.volumeGroupSnapshotRef, kind: 'VolumeGroupSnapshot' }),
  }),
  followed<Event>({
    resource: events,
    self: ({ metadata }) => `event ${metadata.namespace}/${metadata.name}`,
    links: ({ involvedObject }) => [tokenOf(involvedObject) ?? []].flat(),
    owner: ({ involvedObject }) => involvedObject,
  }),
];

/** The source of committed changes, in order: the embedded server's reader. */
interface ChangeSource {
  /** `before` is undefined on creation, `after` on removal. */
  subscribe<T extends KubeObject>(
    resource: Resource<T>,
    listener: (before: T | undefined, after: T | undefined) => void,
  ): () => void;
}

function tokenOf({
  kind,
  namespace = '',
  name = '',
}: {
  kind?: string;
  namespace?: string;
  name?: string;
}): Token | undefined {
  switch (kind) {
    case 'PersistentVolumeClaim':
      return claimToken(namespace, name);
    case 'PersistentVolume':
      return volumeToken(name);
    case 'VolumeAttachment':
      return attachmentToken(name);
    case 'VolumeSnapshot':
      return snapshotToken(namespace, name);
    case 'VolumeSnapshotContent':
    case 'VolumeGroupSnapshotContent':
      return contentToken(name);
    case 'VolumeGroupSnapshot':
      return groupToken(namespace, name);
    case 'Pod':
      return podToken(namespace, name);
    default:
      return undefined;
  }
}

function ofOwner(
  owner: (Parameters<typeof tokenOf>[0] & { uid?: string }) | undefined,
): Pick<ApiEntry, 'of'> {
  const token = owner && tokenOf(owner);
  return token && owner?.uid ? { of: { token, uid: owner.uid } } : {};
}

function phaseOf(object: KubeObject): Pick<ApiEntry, 'phase'> {
  const { phase, attached } = (object as { status?: { phase?: string; attached?: boolean } }).status ?? {};
  if (phase !== undefined) return { phase };
  return attached === undefined ? {} : { phase: String(attached) };
}

/** Returns a function that stops it. */
export function traceApiChanges(options: {
  reader: ChangeSource;
  book: TraceBook;
  writes: WritesUnderWay;
}): () => void {
  const { reader, book, writes } = options;
  const unsubscribes = FOLLOWED.map(({ resource, self, links, owner }) =>
    reader.subscribe(resource, (before, after) => {
      const object = after ?? before;
      if (object === undefined) return;
      const atMs = book.nowMs();
      const by = writes.writerOf(resource, object.metadata) ?? 'a client';
      book.note(() => {
        const changes = describeChange(before, after);
        const isTold = changes.length > 0 || before === undefined || after === undefined;
        // That an event has expired says nothing about its object.
        if (!isTold || (after === undefined && resource.kind === 'Event')) return undefined;
        const { name, namespace } = object.metadata;
        return {
          kind: 'api',
          atMs,
          by,
          verb: before === undefined ? 'created' : after === undefined ? 'deleted' : 'changed',
          object: { kind: resource.kind, name, ...(namespace !== undefined && { namespace }) },
          uid: object.metadata.uid,
          ...ofOwner(owner?.(object)),
          changes,
          ...phaseOf(object),
          self: self(object),
          links: links(object),
        };
      });
    }),
  );
  return () => {
    for (const unsubscribe of unsubscribes) unsubscribe();
  };
}
