// The part of the snapshot controller for group snapshots: binds VolumeGroupSnapshots to VolumeGroupSnapshotContents and
// keeps a VolumeSnapshot with its content for each member. Watches both, their classes, claims, volumes and the members.
// Two loops, one per kind. Single snapshots ask here for the group snapshot that they are members of.

import {
  dynamicGroupContentName,
  groupKeyOf,
  groupOwnerOf,
  refersToGroup,
} from '../../api/group-snapshots.ts';
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import { keyOf, nameFromKey } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
import { snapshotKeyOf } from '../../api/snapshots.ts';
import { type VolumeNames, volumeNamesOf } from '../../csi/names/driver-name.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import type { Loop } from '../../runtime/queue/loop.ts';
import { namespaceKey, namespaceOfKey } from '../../runtime/sharding/owner-keys.ts';
import { type Owns, sharedReconcile } from '../../runtime/sharding/shares.ts';
import type { cachesSynced } from '../caches-synced.ts';
import type { ControllerPorts } from '../controller.ts';
import {
  createContentReconciler,
  decideContent,
  groupSnapshotContents,
} from '../snapshot/content-reconciler.ts';
import type { SnapshotMetrics } from '../snapshot/snapshot-metrics.ts';
import type { SourceClaims } from '../snapshot/source-claims.ts';
import { createGroupClaims, isGoing } from './group-claims.ts';
import { createGroupReconciler } from './group-reconciler.ts';
import { isReady } from './group-status.ts';
import { GroupWrites } from './group-writes.ts';

const UNREADY_BY_NAMESPACE = 'snapshot-controller/unready-groups-by-namespace';
const BY_HANDLE = 'snapshot-controller/group-contents-by-handle';
const MEMBERS_BY_GROUP = 'snapshot-controller/members-by-group';
const CONTENTS_BY_GROUP_HANDLE = 'snapshot-controller/contents-by-group-handle';
const VOLUMES_BY_HANDLE = 'snapshot-controller/volumes-by-handle';

export interface GroupSnapshots {
  readonly caches: Parameters<typeof cachesSynced>[0];
  readonly loops: readonly Loop[];
  /** The group snapshot that a snapshot is a member of, by its owner or by its content's group. */
  groupOf(
    snapshot: VolumeSnapshot,
    content: VolumeSnapshotContent | undefined,
    signal: AbortSignal,
  ): Promise<VolumeGroupSnapshot | undefined>;
  /**
   * Group snapshots of other replicas may become this one's: the caches show at least what the server has now, and what is
   * remembered of those that were not this one's `before` is forgotten.
   */
  prepareGain(before: Owns): Promise<void>;
  /** Looks at everything again. */
  resync(): void;
  follow(wake: { snapshot(key: string): void; claim(key: string): void }): (() => void)[];
}

export interface GroupSnapshotsOptions {
  ports: ControllerPorts;
  loop: Omit<Parameters<typeof createLoop>[0], 'name' | 'reconcile'>;
  metrics: SnapshotMetrics;
  snapshots: ReadYourWrites<VolumeSnapshot>;
  contents: ReadYourWrites<VolumeSnapshotContent>;
  sourceClaims: SourceClaims;
}

export function createGroupSnapshots(options: GroupSnapshotsOptions): GroupSnapshots {
  const { kube, informers, recorder, clock, shares } = options.ports;
  const { metrics, sourceClaims } = options;
  const log = options.loop.log;
  const groups = informers.of(volumeGroupSnapshots, { optional: true });
  const groupContents = informers.of(volumeGroupSnapshotContents, { optional: true });
  const classes = informers.of(volumeGroupSnapshotClasses, { optional: true });
  const snapshots = informers.of(volumeSnapshots);
  const contents = informers.of(volumeSnapshotContents);
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);

  groups.addIndex(UNREADY_BY_NAMESPACE, (group) => (isReady(group) ? [] : [group.metadata.namespace ?? '']));
  groupContents.addIndex(BY_HANDLE, groupHandleKeys);
  snapshots.addIndex(MEMBERS_BY_GROUP, (snapshot) => {
    const owner = groupOwnerOf(snapshot);
    return owner === undefined ? [] : [owner.uid];
  });
  contents.addIndex(CONTENTS_BY_GROUP_HANDLE, groupHandleKeys);
  volumes.addIndex(VOLUMES_BY_HANDLE, ({ spec: { csi } }) =>
    csi === undefined ? [] : [volumeKey(volumeNamesOf(csi))],
  );

  const latestGroups = new ReadYourWrites(groups);
  const latestContents = new ReadYourWrites(groupContents);
  const caches = {
    groups: latestGroups,
    groupContents: latestContents,
    snapshots: options.snapshots,
    contents: options.contents,
  };
  const unplanned = new Set<string>();
  const planned = new Map<string, ReadonlySet<string>>();
  const unreadyIn = (namespace: string) => groups.byIndex(UNREADY_BY_NAMESPACE, namespace);
  const groupClaims = createGroupClaims({
    ...{ claims, volumes, unreadyIn, unplanned, planned },
    contents: latestContents,
  });
  const groupLoop = createLoop({
    ...options.loop,
    name: 'snapshot-controller-group-snapshot',
    reconcile: sharedReconcile(
      shares,
      { ownerKey: namespaceOfKey },
      createGroupReconciler({
        kube,
        clock,
        log,
        recorder,
        metrics,
        caches,
        classes,
        claims: sourceClaims,
        writes: new GroupWrites(kube, caches),
        membersOf: (uid) => snapshots.byIndex(MEMBERS_BY_GROUP, uid),
        unplanned,
        planned,
        goingClaimsOf: (group) => groupClaims.knownTo(group).filter(isGoing),
        volumeOf: (names) => volumes.byIndex(VOLUMES_BY_HANDLE, volumeKey(names))[0],
      }),
    ),
  });
  const contentLoop = createLoop({
    ...options.loop,
    name: 'snapshot-controller-group-content',
    reconcile: sharedReconcile(
      shares,
      {
        ownerKey: (key) => {
          const content = groupContents.get(key);
          return content && namespaceKey(content.spec.volumeGroupSnapshotRef.namespace);
        },
      },
      createContentReconciler(groupSnapshotContents, {
        kube,
        contents: latestContents,
        ownerOf: (content) => groups.get(groupKeyOf(content)),
        recorder,
        log,
      }),
    ),
  });

  async function groupOf(
    snapshot: VolumeSnapshot,
    content: VolumeSnapshotContent | undefined,
    signal: AbortSignal,
  ): Promise<VolumeGroupSnapshot | undefined> {
    const owner = groupOwnerOf(snapshot);
    if (owner === undefined) return groupOfContent(snapshot, content);
    const key = `${snapshot.metadata.namespace}/${owner.name}`;
    const cached = latestGroups.get(key);
    if (cached?.metadata.uid === owner.uid) return cached;
    if (snapshot.metadata.deletionTimestamp === undefined) return undefined;
    // Absence is confirmed by the server: without its group snapshot a member may be deleted.
    const found = await ifThere(kube.get(volumeGroupSnapshots, nameFromKey(key), { signal }));
    return found?.metadata.uid === owner.uid ? found : undefined;
  }

  /** A member that was there first names its group by the handle that the driver returned. */
  function groupOfContent(
    { metadata }: VolumeSnapshot,
    content: VolumeSnapshotContent | undefined,
  ): VolumeGroupSnapshot | undefined {
    const [key] = content === undefined ? [] : groupHandleKeys(content);
    if (key === undefined) return undefined;
    for (const groupContent of groupContents.byIndex(BY_HANDLE, key)) {
      const group = latestGroups.get(groupKeyOf(groupContent));
      if (group === undefined || !refersToGroup(groupContent.spec.volumeGroupSnapshotRef, group)) continue;
      if (group.metadata.namespace === metadata.namespace) return group;
    }
    return undefined;
  }

  sourceClaims.keepFor(groupClaims.isNeeded);

  function follow(wake: { snapshot(key: string): void; claim(key: string): void }): (() => void)[] {
    const wakeMembers = ({ metadata }: VolumeGroupSnapshot): void => {
      for (const member of snapshots.byIndex(MEMBERS_BY_GROUP, metadata.uid)) wake.snapshot(keyOf(member));
    };
    /** Also those that it does not select any more: they may be of what was cut. */
    const wakeClaims = ({ metadata }: VolumeGroupSnapshot): void => {
      for (const claim of claims.list())
        if (claim.metadata.namespace === metadata.namespace && sourceClaims.isProtected(claim))
          wake.claim(keyOf(claim));
    };
    const contentChanged = (content: VolumeGroupSnapshotContent): void => {
      const group = groups.get(groupKeyOf(content));
      if (decideContent(groupSnapshotContents, content, group).do !== 'nothing')
        contentLoop.add(keyOf(content));
      if (group !== undefined) groupLoop.add(groupKeyOf(content));
      for (const key of groupHandleKeys(content)) {
        for (const member of contents.byIndex(CONTENTS_BY_GROUP_HANDLE, key))
          wake.snapshot(snapshotKeyOf(member));
      }
    };
    /** It may now be without a group snapshot. */
    const lookAtContentOf = (gone: VolumeGroupSnapshot): void => {
      const name = gone.status?.boundVolumeGroupSnapshotContentName ?? dynamicGroupContentName(gone);
      const content = groupContents.get(name);
      if (content !== undefined) contentChanged(content);
    };
    const memberChanged = (snapshot: VolumeSnapshot): void => {
      const owner = groupOwnerOf(snapshot);
      if (owner !== undefined) groupLoop.add(`${snapshot.metadata.namespace}/${owner.name}`);
    };
    const claimChanged = ({ metadata }: PersistentVolumeClaim): void => {
      for (const group of unreadyIn(metadata.namespace ?? '')) groupLoop.add(keyOf(group));
    };
    return [
      groups.subscribe(
        {
          added: (group) => groupLoop.add(keyOf(group)),
          updated: (before, after) => {
            const replaced = before.metadata.uid !== after.metadata.uid;
            if (replaced) {
              metrics.gone('GroupSnapshot', before.metadata.uid);
              lookAtContentOf(before);
            }
            const turned = before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp;
            // Failures to create say nothing about deletion, so the backoff starts again.
            if (replaced || turned) groupLoop.forget(keyOf(after));
            // A write of an earlier process that was late may have made it unready.
            const isUnready = isReady(before) && !isReady(after);
            if (replaced || turned || isUnready || !sameJson(before.spec, after.spec))
              groupLoop.add(keyOf(after));
            if (turned) wakeMembers(after);
            if (turned || (!isReady(before) && isReady(after))) wakeClaims(after);
          },
          deleted: (group) => {
            metrics.gone('GroupSnapshot', group.metadata.uid);
            planned.delete(keyOf(group));
            wakeMembers(group);
            wakeClaims(group);
            lookAtContentOf(group);
          },
        },
        { inSlices: true },
      ),
      groupContents.subscribe(
        {
          added: contentChanged,
          updated: (_before, content) => contentChanged(content),
          deleted: (content) => {
            contentChanged(content);
            const group = groups.get(groupKeyOf(content));
            if (group !== undefined) wakeClaims(group);
          },
        },
        { inSlices: true },
      ),
      classes.subscribe({ added: wakeUnready, updated: wakeUnready }),
      snapshots.subscribe(
        {
          added: memberChanged,
          updated: (before, after) => {
            if (before.status?.readyToUse !== after.status?.readyToUse) memberChanged(after);
          },
          deleted: memberChanged,
        },
        { inSlices: true },
      ),
      claims.subscribe(
        {
          added: claimChanged,
          updated: (before, claim) => {
            const isOther =
              before.status?.phase !== claim.status?.phase || isGoing(before) !== isGoing(claim);
            if (isOther || !sameJson(before.metadata.labels, claim.metadata.labels)) claimChanged(claim);
          },
          deleted: claimChanged,
        },
        { inSlices: true },
      ),
    ];
  }

  function wakeUnready(): void {
    for (const group of groups.list()) if (!isReady(group)) groupLoop.add(keyOf(group));
  }

  return {
    caches: [groups, groupContents, classes, volumes],
    loops: [groupLoop, contentLoop],
    groupOf,
    async prepareGain(before) {
      await Promise.all([groups.refresh(), groupContents.refresh()]);
      // Another replica may have found since that they can be cut.
      unplanned.clear();
      // Another replica may have planned them with other claims. Where it created a content, the cache shows that now.
      for (const key of planned.keys()) if (!before(namespaceOfKey(key))) planned.delete(key);
    },
    resync() {
      for (const group of groups.list()) groupLoop.add(keyOf(group));
      for (const content of groupContents.list()) contentLoop.add(keyOf(content));
    },
    follow,
  };
}

/** Handles of a driver are unique among its volumes, and among its group snapshots. */
const volumeKey = ({ driver, volumeHandle }: VolumeNames): string => `${driver} ${volumeHandle}`;

function groupHandleKeys({
  spec,
  status,
}: Pick<VolumeSnapshotContent | VolumeGroupSnapshotContent, 'spec' | 'status'>): string[] {
  return status?.volumeGroupSnapshotHandle ? [`${spec.driver} ${status.volumeGroupSnapshotHandle}`] : [];
}
