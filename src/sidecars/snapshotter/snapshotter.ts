// The snapshotter: watches VolumeSnapshotContents and their classes, and runs one loop over the contents of its driver.
// The snapshot controller creates the contents.

import {
  type VolumeSnapshotContent,
  volumeSnapshotClasses,
  volumeSnapshotContents,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
import { isReadyToUse } from '../../api/snapshots.ts';
import { ANN_SNAPSHOT_BEING_DELETED, LABEL_SNAPSHOT_MANAGED_BY } from '../../api/well-known.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import type { Sidecar, SidecarPorts } from '../common/sidecar.ts';
import { contentReconciler } from './content-reconciler.ts';
import { createSnapshotCalls } from './snapshot-calls.ts';

export interface SnapshotterOptions {
  /** Of each call to the driver. */
  timeoutMs: number;
  workers: number;
  retryStartMs: number;
  retryMaxMs: number;
  /** Resync interval, in case a change was missed; 0: never. */
  resyncMs: number;
  namePrefix: string;
  nameUuidLength: number;
  extraCreateMetadata: boolean;
  /** Only contents that the snapshot controller has assigned to this node. */
  nodeName?: string;
}

const UNREADY_BY_CLASS = 'snapshotter/unready-by-class';

export function createSnapshotter(ports: SidecarPorts, options: SnapshotterOptions): Sidecar {
  const { kube, informers, csi, driver, clock, random, log, metrics } = ports;
  if (!driver.controller.has('CREATE_DELETE_SNAPSHOT')) {
    throw new Error(
      `driver ${driver.name} does not support snapshots: it does not report CREATE_DELETE_SNAPSHOT`,
    );
  }
  const { nodeName } = options;
  // Where the kinds are not installed there is nothing to do until they are.
  const contents = informers.of(volumeSnapshotContents, {
    optional: true,
    ...(nodeName && { labelSelector: `${LABEL_SNAPSHOT_MANAGED_BY}=${nodeName}` }),
  });
  const classes = informers.of(volumeSnapshotClasses, { optional: true });
  const isOurs = ({ spec }: VolumeSnapshotContent): boolean => spec.driver === driver.name;
  contents.addIndex(UNREADY_BY_CLASS, (content) =>
    isReadyToUse(content) || !content.spec.volumeSnapshotClassName
      ? []
      : [content.spec.volumeSnapshotClassName],
  );

  const backoff = { startMs: options.retryStartMs, maxMs: options.retryMaxMs };
  const loop = createLoop({
    name: 'csi-snapshotter-content',
    reconcile: contentReconciler({
      ...ports,
      contents,
      classes,
      calls: createSnapshotCalls({
        kube,
        csi,
        timeoutMs: options.timeoutMs,
        capabilities: driver.controller,
      }),
      naming: { prefix: options.namePrefix, uuidLength: options.nameUuidLength },
      extraCreateMetadata: options.extraCreateMetadata,
    }),
    workers: options.workers,
    backoff,
    clock,
    random,
    log,
    metrics,
  });

  function follow(): () => void {
    const subscriptions = [
      contents.subscribe({
        added: (content) => {
          if (isOurs(content)) loop.add(keyOf(content));
        },
        updated: (before, after) => {
          if (!isOurs(after)) return;
          // Failures to create say nothing about deletion, so the backoff starts again.
          if (before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp)
            loop.forget(keyOf(after));
          if (asksForMore(before, after)) loop.add(keyOf(after));
        },
      }),
      classes.subscribe({
        added: ({ metadata }) => {
          for (const content of contents.byIndex(UNREADY_BY_CLASS, metadata.name)) {
            if (isOurs(content)) loop.add(keyOf(content));
          }
        },
      }),
    ];
    return () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    };
  }

  async function resync(signal: AbortSignal): Promise<void> {
    while (options.resyncMs > 0 && !signal.aborted) {
      await clock.sleep(options.resyncMs, signal).catch(() => {});
      if (signal.aborted) return;
      for (const content of contents.list()) if (isOurs(content)) loop.add(keyOf(content));
    }
  }

  return {
    async run(signal) {
      await Promise.all([contents.synced(signal), classes.synced(signal)]);
      const unfollow = follow();
      log.info('Creating and deleting snapshots', { workers: options.workers });
      try {
        await Promise.all([loop.run(signal), resync(signal)]);
      } finally {
        unfollow();
      }
    },
  };
}

/** Not on every change: the snapshotter's own writes would reset the backoff of a failing content. */
function asksForMore(before: VolumeSnapshotContent, after: VolumeSnapshotContent): boolean {
  const marked = ({ metadata }: VolumeSnapshotContent) => metadata.annotations?.[ANN_SNAPSHOT_BEING_DELETED];
  return (
    before.metadata.uid !== after.metadata.uid ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    marked(before) !== marked(after) ||
    !sameJson(before.spec, after.spec)
  );
}
