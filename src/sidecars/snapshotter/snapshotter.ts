// The snapshotter: watches contents of snapshots and, where asked, of group snapshots, with their classes, and runs one
// loop over each kind, for the contents of its driver. The snapshot controller creates the contents.

import { asksForRetry } from '../../api/asks-for-retry.ts';
import {
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeSnapshotClasses,
  volumeSnapshotContents,
} from '../../api/kinds.ts';
import { type KubeObject, keyOf } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
import {
  ANN_GROUP_SNAPSHOT_BEING_DELETED,
  ANN_SNAPSHOT_BEING_DELETED,
  LABEL_SNAPSHOT_MANAGED_BY,
} from '../../api/well-known.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { uidKey } from '../../runtime/sharding/owner-keys.ts';
import { sharedReconcile } from '../../runtime/sharding/shares.ts';
import { inSlices } from '../../runtime/time/in-slices.ts';
import type { Sidecar, SidecarPorts } from '../common/sidecar.ts';
import type { Content, ContentKind, Made } from './content-kind.ts';
import { contentReconciler } from './content-reconciler.ts';
import { createGroupCalls } from './group-calls.ts';
import { groupKind } from './group-kind.ts';
import { createSnapshotCalls } from './snapshot-calls.ts';
import { snapshotKind } from './snapshot-kind.ts';
import type { SnapshotNaming } from './snapshot-request.ts';

export interface SnapshotterOptions {
  /** Of each call to the driver. */
  timeoutMs: number;
  workers: number;
  retryStartMs: number;
  retryMaxMs: number;
  /** Resync interval, in case a change was missed; 0: never. */
  resyncMs: number;
  naming: SnapshotNaming;
  /** Group snapshots too, with these names. */
  groups?: SnapshotNaming;
  extraCreateMetadata: boolean;
  /** Only contents that the snapshot controller has assigned to this node. */
  nodeName?: string;
}

interface ContentLoop {
  synced(signal: AbortSignal): Promise<unknown>;
  run(signal: AbortSignal): Promise<void>;
}

export function createSnapshotter(ports: SidecarPorts, options: SnapshotterOptions): Sidecar {
  const { informers, csi, driver, log } = ports;
  if (!driver.controller.has('CREATE_DELETE_SNAPSHOT')) {
    throw new Error(
      `driver ${driver.name} does not support snapshots: it does not report CREATE_DELETE_SNAPSHOT`,
    );
  }
  const { nodeName, timeoutMs, extraCreateMetadata } = options;
  const loops = [singleLoop(), ...(options.groups ? [groupLoop(options.groups)] : [])];

  function singleLoop(): ContentLoop {
    // Where the kinds are not installed there is nothing to do until they are.
    const contents = informers.of(volumeSnapshotContents, {
      optional: true,
      ...(nodeName && { labelSelector: `${LABEL_SNAPSHOT_MANAGED_BY}=${nodeName}` }),
    });
    const classes = informers.of(volumeSnapshotClasses, { optional: true });
    const kind = snapshotKind({
      driver: driver.name,
      calls: createSnapshotCalls({ csi, timeoutMs, capabilities: driver.controller }),
      classOf: (name) => classes.get(name),
      naming: options.naming,
      extraCreateMetadata,
    });
    return contentLoop(ports, options, {
      name: 'csi-snapshotter-content',
      kind,
      contents,
      classes,
      classNameOf: ({ spec }) => spec.volumeSnapshotClassName,
      beingDeleted: ANN_SNAPSHOT_BEING_DELETED,
    });
  }

  function groupLoop(naming: SnapshotNaming): ContentLoop {
    const contents = informers.of(volumeGroupSnapshotContents, { optional: true });
    const classes = informers.of(volumeGroupSnapshotClasses, { optional: true });
    const kind = groupKind({
      driver: driver.name,
      calls: createGroupCalls({ csi, timeoutMs }),
      classOf: (name) => classes.get(name),
      naming,
      extraCreateMetadata,
      isCapable: driver.group.has('CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT'),
    });
    return contentLoop(ports, options, {
      name: 'csi-snapshotter-groupsnapshotcontent',
      kind,
      contents,
      classes,
      classNameOf: ({ spec }) => spec.volumeGroupSnapshotClassName,
      beingDeleted: ANN_GROUP_SNAPSHOT_BEING_DELETED,
    });
  }

  return {
    async run(signal) {
      await Promise.all(loops.map((loop) => loop.synced(signal)));
      log.info('Creating and deleting snapshots', {
        workers: options.workers,
        groups: options.groups !== undefined,
      });
      await Promise.all(loops.map((loop) => loop.run(signal)));
    },
  };
}

/** The loop over the contents of one kind. */
function contentLoop<C extends Content, M extends Made>(
  ports: SidecarPorts,
  options: SnapshotterOptions,
  of: {
    name: string;
    kind: ContentKind<C, M>;
    contents: Informer<C>;
    classes: Informer<KubeObject>;
    classNameOf(content: C): string | undefined;
    beingDeleted: string;
  },
): ContentLoop {
  const { clock, random, log, metrics, driver, kube, shares } = ports;
  const { contents, classes, kind } = of;
  const openByClass = `${of.name}/open-by-class`;
  const isOurs = ({ spec }: C): boolean => spec.driver === driver.name;
  // Those that the class decides about: whether they are made, and whether they may go.
  contents.addIndex(openByClass, (content) => {
    const className = of.classNameOf(content);
    const isOpen = !content.status?.readyToUse || content.metadata.deletionTimestamp !== undefined;
    return isOpen && className ? [className] : [];
  });
  const loop = createLoop({
    name: of.name,
    reconcile: sharedReconcile(
      shares,
      { ownerKey: (key) => uidKey(contents.get(key)), confirm: { kube, informer: contents } },
      contentReconciler({ ...ports, kind, contents }),
    ),
    workers: options.workers,
    backoff: { startMs: options.retryStartMs, maxMs: options.retryMaxMs },
    clock,
    random,
    log,
    metrics,
  });

  const lookAt = (content: C): void => {
    if (isOurs(content)) loop.add(keyOf(content));
  };
  const lookAtAll = (): void => inSlices(clock, contents.list(), lookAt);
  shares?.onGain(lookAtAll);

  const lookAtOpen = ({ metadata }: KubeObject): void =>
    contents.byIndex(openByClass, metadata.name).forEach(lookAt);

  /** Not on every change: the snapshotter's own writes would reset the backoff of a failing content. */
  function asksForMore(before: C, after: C): boolean {
    const marked = ({ metadata }: C) => metadata.annotations?.[of.beingDeleted];
    return (
      before.metadata.uid !== after.metadata.uid ||
      before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
      marked(before) !== marked(after) ||
      // A write of an earlier process that was late may have made it unready.
      (before.status?.readyToUse === true && after.status?.readyToUse !== true) ||
      !sameJson(before.spec, after.spec) ||
      // The snapshot controller sets the handle of a member, which can only then be looked at.
      (kind.attemptOn(before).is !== 'recorded' && kind.factsOf(after).isMember)
    );
  }

  function follow(): (() => void)[] {
    return [
      contents.subscribe(
        {
          added: lookAt,
          updated: (before, after) => {
            if (!isOurs(after)) return;
            // Failures to create say nothing about deletion, so the backoff starts again.
            const isAsked = asksForRetry(before, after);
            if (before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp || isAsked)
              loop.forget(keyOf(after));
            if (isAsked || asksForMore(before, after)) loop.add(keyOf(after));
          },
        },
        { inSlices: true },
      ),
      classes.subscribe({
        added: lookAtOpen,
        // Classes hardly ever change, unless a gap of the watch hides that one was created again.
        updated: (_before, after) => lookAtOpen(after),
        deleted: lookAtOpen,
      }),
    ];
  }

  async function resync(signal: AbortSignal): Promise<void> {
    while (options.resyncMs > 0 && !signal.aborted) {
      await clock.sleep(options.resyncMs, signal).catch(() => {});
      if (signal.aborted) return;
      lookAtAll();
    }
  }

  return {
    synced: (signal) => Promise.all([contents.synced(signal), classes.synced(signal)]),
    async run(signal) {
      const unsubscribes = follow();
      try {
        await Promise.all([loop.run(signal), resync(signal)]);
      } finally {
        for (const unsubscribe of unsubscribes) unsubscribe();
      }
    },
  };
}
