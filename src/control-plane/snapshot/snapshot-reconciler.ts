// Reconciles one VolumeSnapshot: reads what it refers to, has the next step decided and performs it, until nothing is
// left to do. Writes snapshots and their statuses; creates, binds, annotates and deletes contents; emits Events.

import { groupOwnerOf, memberContentName } from '../../api/group-snapshots.ts';
import {
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumes,
  type VolumeGroupSnapshot,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { dynamicContentName, isReadyToUse } from '../../api/snapshots.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { done, failed, type Outcome, type Reconcile } from '../../runtime/queue/loop.ts';
import { decideSnapshot, type SnapshotFacts, type SnapshotStep } from './decide-snapshot.ts';
import { type ContentPlan, planContent } from './plan-content.ts';
import type { SnapshotMetrics } from './snapshot-metrics.ts';
import { failureChange, isCut } from './snapshot-status.ts';
import type { SnapshotWrites } from './snapshot-writes.ts';
import { type SourceClaims, sourceClaimOf } from './source-claims.ts';

export interface SnapshotReconcilerPorts {
  kube: KubeClient;
  clock: Clock;
  log: Log;
  recorder: EventRecorder;
  metrics: SnapshotMetrics;
  snapshots: ReadYourWrites<VolumeSnapshot>;
  contents: ReadYourWrites<VolumeSnapshotContent>;
  classes: Informer<VolumeSnapshotClass>;
  claims: SourceClaims;
  writes: SnapshotWrites;
  restoring(snapshotKey: string): readonly PersistentVolumeClaim[];
  recordsVolumeMode: boolean;
  /** With distributed snapshotting. */
  nodes?: Informer<Node>;
  /** With group snapshots: the one that a snapshot is a member of. */
  groupOf?(
    snapshot: VolumeSnapshot,
    content: VolumeSnapshotContent | undefined,
    signal: AbortSignal,
  ): Promise<VolumeGroupSnapshot | undefined>;
}

type Doing<K extends SnapshotStep['do']> = Extract<SnapshotStep, { do: K }>;

/** More steps than any snapshot needs in its whole life. */
const MOST_STEPS = 16;

export function createSnapshotReconciler(ports: SnapshotReconcilerPorts): Reconcile {
  const { kube, clock, log, recorder, metrics, snapshots, contents, claims, writes } = ports;

  async function reconcile(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    /** Created in this run, and not in the cache yet. */
    let made: VolumeSnapshotContent | undefined;
    for (let steps = 0; steps < MOST_STEPS; steps++) {
      signal.throwIfAborted();
      const snapshot = snapshots.get(key);
      if (snapshot === undefined) return done;
      const content = (await contentOf(snapshot, signal)) ?? made;
      const facts = await factsOf(snapshot, content, signal);
      beginMetrics(snapshot, content);
      const step = decideSnapshot(facts);
      if (step.do === 'fail') return fail(step, snapshot, signal);
      if (step.do === 'nothing') {
        log.v(4).info('Nothing to do', { snapshot: key, why: step.why });
        return ended(snapshot, content, step.why);
      }
      if (step.do === 'wait') {
        recorder.event(snapshot, 'Warning', 'SnapshotDeletePending', `It is not deleted yet: ${step.why}`);
        return ended(snapshot, content, step.why);
      }
      try {
        if (step.do === 'create-content') made = await createContent(snapshot, step.plan, signal);
        else await perform(step, snapshot, signal);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        // The cache may never have shown what is gone now: then no event would wake this snapshot.
        log.v(3).info('Object was deleted before the write', { snapshot: key, step: step.do, err: error });
        return failed({ why: 'what it was about was deleted before the write', quiet: true });
      }
    }
    throw new Error(`snapshot ${key} is not settled after ${MOST_STEPS} steps`);
  }

  /** The end of a content that the cache has never shown gives no event, so the snapshot that waits for it is looked at again. */
  function ended(
    { metadata }: VolumeSnapshot,
    content: VolumeSnapshotContent | undefined,
    why: string,
  ): Outcome {
    if (metadata.deletionTimestamp === undefined || content === undefined) return done;
    return contents.get(keyOf(content)) === undefined ? failed({ why, quiet: true }) : done;
  }

  async function contentOf(
    snapshot: VolumeSnapshot,
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent | undefined> {
    const { spec, status, metadata } = snapshot;
    const name =
      spec.source.volumeSnapshotContentName ||
      status?.boundVolumeSnapshotContentName ||
      (groupOwnerOf(snapshot) ? memberContentName(snapshot) : dynamicContentName(snapshot));
    const cached = contents.get(name);
    // Absence is confirmed by the server: a content that was created a moment ago would otherwise be leaked, or, of a snapshot
    // that is cut, reported as lost.
    const isMissed = metadata.deletionTimestamp !== undefined || isCut(snapshot) || isReadyToUse(snapshot);
    if (cached !== undefined || !isMissed) return cached;
    return ifThere(kube.get(volumeSnapshotContents, { name }, { signal }));
  }

  async function factsOf(
    snapshot: VolumeSnapshot,
    content: VolumeSnapshotContent | undefined,
    signal: AbortSignal,
  ): Promise<SnapshotFacts> {
    const claimKey = sourceClaimOf(snapshot);
    const isPlanned = content === undefined && !snapshot.metadata.deletionTimestamp && !isCut(snapshot);
    const claim = isPlanned && claimKey !== undefined ? await claims.read(claimKey, signal) : undefined;
    const volume = claim && (await volumeOf(claim, signal));
    return {
      snapshot,
      content,
      restoring: ports.restoring(keyOf(snapshot))[0]?.metadata.name,
      group: await ports.groupOf?.(snapshot, content, signal),
      knowsGroups: ports.groupOf !== undefined,
      isHeld: (claim) => claims.isHeld(claim),
      plan: () =>
        planContent({
          snapshot,
          claim,
          volume,
          classes: ports.classes.list(),
          recordsVolumeMode: ports.recordsVolumeMode,
          ...(ports.nodes && { nodes: ports.nodes.list() }),
        }),
    };
  }

  async function volumeOf(
    { spec }: PersistentVolumeClaim,
    signal: AbortSignal,
  ): Promise<PersistentVolume | undefined> {
    if (!spec.volumeName) return undefined;
    return ifThere(kube.get(persistentVolumes, { name: spec.volumeName }, { signal }));
  }

  async function createContent(
    snapshot: VolumeSnapshot,
    { draft }: ContentPlan,
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent> {
    const { content, isNew } = await writes.createContent(draft, signal);
    if (isNew) {
      const key = keyOf(snapshot);
      log.v(2).info('Created a content', { snapshot: key, content: content.metadata.name });
      const message = `Waiting for the CSI driver to create snapshot ${key}`;
      recorder.event(snapshot, 'Normal', 'CreatingSnapshot', message);
    }
    return content;
  }

  async function perform(
    step: Exclude<SnapshotStep, { do: 'nothing' | 'wait' | 'fail' | 'create-content' }>,
    snapshot: VolumeSnapshot,
    signal: AbortSignal,
  ): Promise<void> {
    switch (step.do) {
      case 'protect':
        return writes.protect(snapshot, step, signal);
      case 'protect-claim':
        return claims.protect(step.plan.claim, signal);
      case 'bind-content':
        return writes.bindContent(step.content, snapshot, signal);
      case 'write-status':
        return writeChange(step, snapshot, signal);
      case 'mark-content':
        return writes.markContent(step.content, signal);
      case 'delete-content':
        return writes.deleteContent(step.content, signal);
      case 'join-group':
        return writes.joinGroup(snapshot, step.group, signal);
      case 'release':
        return writes.release(snapshot, step.finalizers, signal);
      default:
        step satisfies never;
    }
  }

  async function writeChange(
    { patch, isCut: cut, isReady }: Doing<'write-status'>,
    snapshot: VolumeSnapshot,
    signal: AbortSignal,
  ): Promise<void> {
    await writes.status(snapshot, patch, signal);
    const { uid } = snapshot.metadata;
    const key = keyOf(snapshot);
    if (cut) {
      metrics.end('CreateSnapshot', uid);
      recorder.event(snapshot, 'Normal', 'SnapshotCreated', `The CSI driver has created snapshot ${key}`);
    }
    if (isReady) {
      metrics.end('CreateSnapshotAndReady', uid);
      recorder.event(snapshot, 'Normal', 'SnapshotReady', `Snapshot ${key} is ready to use`);
    }
  }

  /**
   * Emits one event, on the object that the user looks at, with what the user must do; most such changes wake it. Once it is
   * written: the write is refused when the snapshot has changed, as a cache that is behind does not show.
   */
  async function fail(
    { reason, message, unready }: Doing<'fail'>,
    snapshot: VolumeSnapshot,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const key = keyOf(snapshot);
    const status = failureChange(snapshot, { message, unready }, clock.now());
    if (status !== undefined) {
      log.info('A snapshot cannot be created or used yet', { snapshot: key, reason, why: message });
      try {
        await writes.status(snapshot, status, signal);
        recorder.event(snapshot, 'Warning', reason, message);
      } catch (error) {
        // The next run tells, if it is still so. The failure is what it is about, not the conflict.
        if (!isConflict(error)) throw error;
      }
    }
    return failed({ why: message, quiet: true });
  }

  function beginMetrics(snapshot: VolumeSnapshot, content: VolumeSnapshotContent | undefined): void {
    const className = snapshot.spec.volumeSnapshotClassName ?? '';
    const driver = (content?.spec.driver ?? ports.classes.get(className)?.driver) as DriverName | undefined;
    const { uid, deletionTimestamp } = snapshot.metadata;
    const isDynamic = snapshot.spec.source.volumeSnapshotContentName === undefined;
    const about = { uid, isDynamic, driver };
    if (deletionTimestamp !== undefined) {
      metrics.begin('DeleteSnapshot', about);
      return;
    }
    if (isReadyToUse(snapshot)) return;
    if (!isCut(snapshot)) metrics.begin('CreateSnapshot', about);
    metrics.begin('CreateSnapshotAndReady', about);
  }

  return reconcile;
}
