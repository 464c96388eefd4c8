// The snapshot controller: binds VolumeSnapshots to VolumeSnapshotContents. Watches both, their classes and claims;
// creates, binds and deletes contents, manages finalizers and the snapshots' statuses. Never calls a driver: the
// snapshotter does, from the contents. Three loops, one per kind; group snapshots have their own (../group-snapshot).

import {
  nodes,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
import { dynamicContentName, isReadyToUse, snapshotKeyOf } from '../../api/snapshots.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { namespaceKey, namespaceOfKey } from '../../runtime/sharding/owner-keys.ts';
import { sharedReconcile } from '../../runtime/sharding/shares.ts';
import { every } from '../../runtime/time/every.ts';
import { inSlices } from '../../runtime/time/in-slices.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { createGroupSnapshots } from '../group-snapshot/group-snapshots.ts';
import { createContentReconciler, decideContent, snapshotContents } from './content-reconciler.ts';
import { indexRestoringClaims, snapshotSourceOf } from './restoring-claims.ts';
import { SnapshotMetrics } from './snapshot-metrics.ts';
import { createSnapshotReconciler } from './snapshot-reconciler.ts';
import { SnapshotWrites } from './snapshot-writes.ts';
import { SourceClaims, sourceClaimOf } from './source-claims.ts';

export interface SnapshotControllerOptions {
  workers: number;
  retryStartMs: number;
  retryMaxMs: number;
  /** Resync interval, in case a change was missed; 0: never. */
  resyncMs: number;
  /** Contents name the node that takes the snapshot of a volume which only some nodes reach. */
  distributed: boolean;
  /** Contents record the volume's mode, so that a restore in another mode can be rejected. */
  preventVolumeModeConversion: boolean;
  /** Group snapshots too. */
  groups: boolean;
}

export const SNAPSHOT_CONTROLLER_DEFAULTS: SnapshotControllerOptions = {
  workers: 10,
  retryStartMs: 1_000,
  retryMaxMs: 300_000,
  resyncMs: 900_000,
  distributed: false,
  preventVolumeModeConversion: true,
  groups: true,
};

const UNBOUND = 'snapshot-controller/unbound';
const BY_CONTENT = 'snapshot-controller/snapshots-by-content';

export function createSnapshotController(
  ports: ControllerPorts,
  options: SnapshotControllerOptions = SNAPSHOT_CONTROLLER_DEFAULTS,
): Controller {
  const { kube, informers, recorder, clock, shares } = ports;
  const log = ports.log.with({ controller: 'snapshot-controller' });
  const snapshots = informers.of(volumeSnapshots);
  const contents = informers.of(volumeSnapshotContents);
  const classes = informers.of(volumeSnapshotClasses);
  const claims = informers.of(persistentVolumeClaims);
  const nodeCache = options.distributed ? informers.of(nodes) : undefined;
  snapshots.addIndex(UNBOUND, ({ status }) => (status?.boundVolumeSnapshotContentName ? [] : ['']));
  snapshots.addIndex(BY_CONTENT, ({ spec: { source } }) =>
    source.volumeSnapshotContentName === undefined ? [] : [source.volumeSnapshotContentName],
  );
  const latestSnapshots = new ReadYourWrites(snapshots);
  const latestContents = new ReadYourWrites(contents);
  const writes = new SnapshotWrites(kube, { snapshots: latestSnapshots, contents: latestContents });
  const sourceClaims = new SourceClaims(kube, { claims, snapshots });
  const restoring = indexRestoringClaims(claims);
  const metrics = new SnapshotMetrics(ports.metrics, clock);

  const backoff = { startMs: options.retryStartMs, maxMs: options.retryMaxMs };
  const common = { ...ports, log, workers: options.workers, backoff };
  const groups = options.groups
    ? createGroupSnapshots({
        ports,
        loop: common,
        metrics,
        snapshots: latestSnapshots,
        contents: latestContents,
        sourceClaims,
      })
    : undefined;
  const snapshotLoop = createLoop({
    ...common,
    name: 'snapshot-controller-snapshot',
    reconcile: sharedReconcile(
      shares,
      { ownerKey: namespaceOfKey },
      createSnapshotReconciler({
        kube,
        clock,
        log,
        recorder,
        metrics,
        snapshots: latestSnapshots,
        writes,
        contents: latestContents,
        classes,
        claims: sourceClaims,
        restoring,
        recordsVolumeMode: options.preventVolumeModeConversion,
        ...(nodeCache && { nodes: nodeCache }),
        ...(groups && { groupOf: groups.groupOf }),
      }),
    ),
  });
  const contentLoop = createLoop({
    ...common,
    name: 'snapshot-controller-content',
    reconcile: sharedReconcile(
      shares,
      {
        ownerKey: (key) => {
          const content = contents.get(key);
          return content && namespaceKey(content.spec.volumeSnapshotRef.namespace);
        },
      },
      createContentReconciler(snapshotContents, {
        kube,
        contents: latestContents,
        ownerOf: (content) => snapshots.get(snapshotKeyOf(content)),
        recorder,
        log,
      }),
    ),
  });
  const claimLoop = createLoop({
    ...common,
    name: 'snapshot-controller-claim',
    reconcile: sharedReconcile(
      shares,
      { ownerKey: namespaceOfKey, confirm: { kube, informer: claims } },
      sourceClaims.reconcile,
    ),
  });

  const lookAtClaimOf = (snapshot: VolumeSnapshot): void => {
    const key = sourceClaimOf(snapshot);
    if (key !== undefined) claimLoop.add(key);
  };
  const contentChanged = (content: VolumeSnapshotContent): void => {
    const owner = snapshotKeyOf(content);
    const snapshot = snapshots.get(owner);
    if (decideContent(snapshotContents, content, snapshot).do !== 'nothing') contentLoop.add(keyOf(content));
    if (snapshot !== undefined) snapshotLoop.add(owner);
    for (const snapshot of snapshots.byIndex(BY_CONTENT, keyOf(content))) {
      if (keyOf(snapshot) !== owner) snapshotLoop.add(keyOf(snapshot));
    }
  };
  /** It may now be without a snapshot. */
  const lookAtContentOf = (gone: VolumeSnapshot): void => {
    const name = gone.status?.boundVolumeSnapshotContentName ?? dynamicContentName(gone);
    const content = contents.get(name);
    if (content !== undefined) contentChanged(content);
  };
  /**
   * Where the answer to adding the finalizer was lost, the snapshot may be gone before the watch shows it. A claim with other
   * labels is not looked at with the group snapshot that selected it.
   */
  const mayHaveToGo = (before: PersistentVolumeClaim, { metadata }: PersistentVolumeClaim): boolean =>
    !sourceClaims.isProtected(before) ||
    before.metadata.deletionTimestamp !== metadata.deletionTimestamp ||
    !sameJson(before.metadata.labels, metadata.labels);
  const claimChanged = (claim: PersistentVolumeClaim): void => {
    for (const snapshot of sourceClaims.unreadyOf(keyOf(claim))) {
      if (snapshot.status?.boundVolumeSnapshotContentName === undefined) snapshotLoop.add(keyOf(snapshot));
    }
    const source = snapshotSourceOf(claim);
    if (source !== undefined && snapshots.get(source)?.metadata.deletionTimestamp) snapshotLoop.add(source);
  };

  function follow(): (() => void)[] {
    return [
      ...(groups?.follow({ snapshot: (key) => snapshotLoop.add(key), claim: (key) => claimLoop.add(key) }) ??
        []),
      snapshots.subscribe(
        {
          added: (snapshot) => {
            snapshotLoop.add(keyOf(snapshot));
          },
          updated: (before, after) => {
            const replaced = before.metadata.uid !== after.metadata.uid;
            if (replaced) {
              metrics.gone('Snapshot', before.metadata.uid);
              lookAtContentOf(before);
            }
            const turned = before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp;
            // Failures to create say nothing about deletion, so the backoff starts again.
            if (replaced || turned) snapshotLoop.forget(keyOf(after));
            if (replaced || turned || asksForMore(before, after)) snapshotLoop.add(keyOf(after));
            if (!isReadyToUse(before) && isReadyToUse(after)) lookAtClaimOf(after);
          },
          deleted: (snapshot) => {
            metrics.gone('Snapshot', snapshot.metadata.uid);
            lookAtClaimOf(snapshot);
            lookAtContentOf(snapshot);
          },
        },
        { inSlices: true },
      ),
      contents.subscribe(
        {
          added: contentChanged,
          updated: (_before, content) => contentChanged(content),
          deleted: contentChanged,
        },
        { inSlices: true },
      ),
      classes.subscribe({
        added: () => lookAtUnbound(),
        updated: () => lookAtUnbound(),
      }),
      claims.subscribe(
        {
          added: (claim) => {
            if (sourceClaims.isProtected(claim)) claimLoop.add(keyOf(claim));
            claimChanged(claim);
          },
          updated: (before, claim) => {
            if (sourceClaims.isProtected(claim) && mayHaveToGo(before, claim)) claimLoop.add(keyOf(claim));
            if (before.status?.phase !== claim.status?.phase) claimChanged(claim);
          },
          deleted: (claim) => {
            sourceClaims.gone(claim);
            claimChanged(claim);
          },
        },
        { inSlices: true },
      ),
    ];
  }

  function lookAtUnbound(): void {
    for (const snapshot of snapshots.byIndex(UNBOUND, '')) snapshotLoop.add(keyOf(snapshot));
  }

  const lookAtAll = (): void => {
    inSlices(clock, snapshots.list(), (snapshot) => snapshotLoop.add(keyOf(snapshot)));
    inSlices(clock, contents.list(), (content) => contentLoop.add(keyOf(content)));
    inSlices(clock, claims.list(), (claim) => {
      if (sourceClaims.isProtected(claim)) claimLoop.add(keyOf(claim));
    });
    groups?.resync();
  };
  const resync = (signal: AbortSignal): Promise<void> =>
    every({ clock, intervalMs: options.resyncMs, signal }, lookAtAll);
  // The finalizers of claims and members depend on all snapshots of the namespace. A claim must not count as protected by a
  // finalizer that the replica before has removed.
  shares?.beforeGain(async (before) => {
    sourceClaims.forgetHeld();
    await Promise.all([
      snapshots.refresh(),
      contents.refresh(),
      claims.refresh(),
      groups?.prepareGain(before),
    ]);
  });
  shares?.onGain(lookAtAll);

  return {
    name: 'snapshot-controller',
    async run(signal) {
      // The finalizer of a claim is removed when no snapshot needs it: that requires synced snapshots.
      const caches = [
        snapshots,
        contents,
        classes,
        claims,
        ...(nodeCache ? [nodeCache] : []),
        ...(groups?.caches ?? []),
      ];
      if (!(await cachesSynced(caches, signal))) return;
      const unsubscribes = follow();
      try {
        await Promise.all([
          snapshotLoop.run(signal),
          contentLoop.run(signal),
          claimLoop.run(signal),
          ...(groups?.loops ?? []).map((loop) => loop.run(signal)),
          resync(signal),
        ]);
      } finally {
        for (const unsubscribe of unsubscribes) unsubscribe();
      }
    },
  };
}

/** Not on every change: the controller's own writes would reset the backoff of a failing snapshot. */
function asksForMore(before: VolumeSnapshot, after: VolumeSnapshot): boolean {
  const has = after.metadata.finalizers ?? [];
  const lostOne = (before.metadata.finalizers ?? []).some((each) => !has.includes(each));
  // A write of an earlier process that was late may have made it unready.
  const isUnready = isReadyToUse(before) && !isReadyToUse(after);
  return lostOne || isUnready || !sameJson(before.spec, after.spec);
}
