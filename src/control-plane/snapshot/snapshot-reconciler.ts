// One VolumeSnapshot: reads what it refers to, has the next step decided, performs it, until nothing is left to do.
// Writes snapshots and their statuses, makes, binds, marks and deletes contents, and tells in Events.

import {
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumes,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import { keyOf, nameFromKey } from '../../api/object.ts';
import { dynamicContentName, isReadyToUse } from '../../api/snapshots.ts';
import { FINALIZER_SNAPSHOT_CONTENT } from '../../api/well-known.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import { ExpectedError } from '../../runtime/expected-error.ts';
import type { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import type { Informer } from '../../runtime/informer.ts';
import { addFinalizer, removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube.ts';
import { isAlreadyExists, isNotFound } from '../../runtime/kube-error.ts';
import { done, type Outcome, type Reconcile } from '../../runtime/loop.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { markBeingDeleted } from './content-reconciler.ts';
import { decideSnapshot, type SnapshotFacts, type SnapshotStep } from './decide-snapshot.ts';
import { type ContentPlan, planContent } from './plan-content.ts';
import type { SnapshotMetrics } from './snapshot-metrics.ts';
import { failureChange, isCut, type StatusPatch } from './snapshot-status.ts';
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
  restoring(snapshotKey: string): readonly PersistentVolumeClaim[];
  recordsVolumeMode: boolean;
  /** With distributed snapshotting. */
  nodes?: Informer<Node>;
}

/** What the user must change; the status says it, and it is tried again. */
class SnapshotProblem extends ExpectedError {
  override readonly name = 'SnapshotProblem';
}

type Doing<K extends SnapshotStep['do']> = Extract<SnapshotStep, { do: K }>;

/** More than any snapshot needs from its first moment to its last. */
const MOST_STEPS = 16;

export function createSnapshotReconciler(ports: SnapshotReconcilerPorts): Reconcile {
  const { kube, clock, log, recorder, metrics, snapshots, contents, claims } = ports;

  async function reconcile(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    /** Made in this run, and not in the cache yet. */
    let made: VolumeSnapshotContent | undefined;
    for (let steps = 0; steps < MOST_STEPS; steps++) {
      signal.throwIfAborted();
      const snapshot = snapshots.get(key);
      if (snapshot === undefined) return done;
      const content = (await contentOf(snapshot, signal)) ?? made;
      const facts = await factsOf(snapshot, content, signal);
      beginMetrics(snapshot, content);
      const step = decideSnapshot(facts);
      if (step.do === 'nothing') {
        log.v(4).info('Nothing to do', { snapshot: key, why: step.why });
        return done;
      }
      if (step.do === 'wait') {
        recorder.event(snapshot, 'Warning', 'SnapshotDeletePending', `It is not deleted yet: ${step.why}`);
        return done;
      }
      try {
        if (step.do === 'create-content') made = await createContent(snapshot, step.plan, signal);
        else await perform(step, snapshot, signal);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        // What the step was about is gone; the cache will say so, and wake this snapshot.
        log.v(3).info('Gone before it could be written', { snapshot: key, step: step.do, err: error });
        return done;
      }
    }
    throw new Error(`snapshot ${key} did not come to rest within ${MOST_STEPS} steps`);
  }

  async function contentOf(
    snapshot: VolumeSnapshot,
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent | undefined> {
    const { spec, status, metadata } = snapshot;
    const name =
      spec.source.volumeSnapshotContentName ||
      status?.boundVolumeSnapshotContentName ||
      dynamicContentName(snapshot);
    const cached = contents.get(name);
    // Only the server knows that there is none: one that was made a moment ago would be left behind for ever.
    if (cached !== undefined || metadata.deletionTimestamp === undefined) return cached;
    return orNone(kube.get(volumeSnapshotContents, { name }, { signal }));
  }

  async function factsOf(
    snapshot: VolumeSnapshot,
    content: VolumeSnapshotContent | undefined,
    signal: AbortSignal,
  ): Promise<SnapshotFacts> {
    const claimKey = sourceClaimOf(snapshot);
    const isPlanned = content === undefined && !snapshot.metadata.deletionTimestamp && !isCut(snapshot);
    const claim = isPlanned && claimKey !== undefined ? await claims.read(claimKey) : undefined;
    const volume = claim && (await volumeOf(claim, signal));
    return {
      snapshot,
      content,
      restoring: ports.restoring(keyOf(snapshot))[0]?.metadata.name,
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
    return orNone(kube.get(persistentVolumes, { name: spec.volumeName }, { signal }));
  }

  async function createContent(
    snapshot: VolumeSnapshot,
    { draft }: ContentPlan,
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent> {
    const { name = '' } = draft.metadata;
    try {
      const content = await kube.create(volumeSnapshotContents, draft, { signal });
      const key = keyOf(snapshot);
      log.v(2).info('Made a content', { snapshot: key, content: name });
      recorder.event(
        snapshot,
        'Normal',
        'CreatingSnapshot',
        `Waiting for the CSI driver to make snapshot ${key}`,
      );
      return content;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return kube.get(volumeSnapshotContents, { name }, { signal });
    }
  }

  async function perform(
    step: Exclude<SnapshotStep, { do: 'nothing' | 'wait' | 'create-content' }>,
    snapshot: VolumeSnapshot,
    signal: AbortSignal,
  ): Promise<void> {
    const request = { kube, resource: volumeSnapshots, object: snapshot, signal };
    switch (step.do) {
      case 'fail':
        return fail(step, snapshot, signal);
      case 'protect':
        return protect(step, snapshot, signal);
      case 'protect-claim':
        return claims.protect(step.plan.claim, signal);
      case 'bind-content':
        return bind(step.content, snapshot, signal);
      case 'write-status':
        return writeChange(step, snapshot, signal);
      case 'mark-content':
        contents.wrote(await markBeingDeleted(kube, step.content, signal));
        return;
      case 'delete-content':
        return deleteContent(step.content, signal);
      case 'release': {
        const left = await removeFinalizer({ ...request, finalizer: step.finalizers });
        if (left !== undefined) snapshots.wrote(left);
        return;
      }
      default:
        step satisfies never;
    }
  }

  async function protect(
    { finalizers, className }: Doing<'protect'>,
    snapshot: VolumeSnapshot,
    signal: AbortSignal,
  ): Promise<void> {
    let object = snapshot;
    if (className !== undefined) {
      const { uid } = snapshot.metadata;
      const patch = { metadata: { uid }, spec: { volumeSnapshotClassName: className } };
      const named = nameFromKey(keyOf(snapshot));
      object = snapshots.wrote(await kube.patch(volumeSnapshots, named, patch, { type: 'merge', signal }));
    }
    if (finalizers.length === 0) return;
    snapshots.wrote(
      await addFinalizer({ kube, resource: volumeSnapshots, object, finalizer: finalizers, signal }),
    );
  }

  /** The test inside keeps it to a content that nobody else has bound meanwhile. */
  async function bind(
    content: VolumeSnapshotContent,
    { metadata, spec }: VolumeSnapshot,
    signal: AbortSignal,
  ): Promise<void> {
    const { volumeSnapshotRef, volumeSnapshotClassName } = content.spec;
    const { finalizers } = content.metadata;
    const path = '/spec/volumeSnapshotRef';
    const className = spec.volumeSnapshotClassName;
    const isProtected = finalizers?.includes(FINALIZER_SNAPSHOT_CONTENT);
    const isGoing = content.metadata.deletionTimestamp !== undefined;
    const patch = [
      { op: 'test', path, value: volumeSnapshotRef },
      { op: 'replace', path, value: { ...volumeSnapshotRef, uid: metadata.uid } },
      ...(className !== undefined && volumeSnapshotClassName === undefined
        ? [{ op: 'add', path: '/spec/volumeSnapshotClassName', value: className }]
        : []),
      ...(isProtected || isGoing
        ? []
        : [
            { op: 'test', path: '/metadata/finalizers', value: finalizers ?? null },
            {
              op: 'add',
              path: '/metadata/finalizers',
              value: [...(finalizers ?? []), FINALIZER_SNAPSHOT_CONTENT],
            },
          ]),
    ];
    const { name } = content.metadata;
    contents.wrote(await kube.patch(volumeSnapshotContents, { name }, patch, { type: 'json', signal }));
  }

  async function deleteContent(content: VolumeSnapshotContent, signal: AbortSignal): Promise<void> {
    const { name, uid } = content.metadata;
    await kube.delete(volumeSnapshotContents, { name }, { preconditions: { uid }, signal });
    // Its finalizer keeps it: what it is now is read back instead of guessed.
    contents.wrote(await kube.get(volumeSnapshotContents, { name }, { signal }));
  }

  async function writeChange(
    { patch, isCut: cut, isReady }: Doing<'write-status'>,
    snapshot: VolumeSnapshot,
    signal: AbortSignal,
  ): Promise<void> {
    await writeStatus(snapshot, patch, signal);
    const { uid } = snapshot.metadata;
    const key = keyOf(snapshot);
    if (cut) {
      metrics.end('CreateSnapshot', uid);
      recorder.event(snapshot, 'Normal', 'SnapshotCreated', `The CSI driver has made snapshot ${key}`);
    }
    if (isReady) {
      metrics.end('CreateSnapshotAndReady', uid);
      recorder.event(snapshot, 'Normal', 'SnapshotReady', `Snapshot ${key} is ready to use`);
    }
  }

  async function writeStatus(
    snapshot: VolumeSnapshot,
    status: StatusPatch,
    signal: AbortSignal,
  ): Promise<void> {
    const body = { metadata: { uid: snapshot.metadata.uid }, status };
    const how = { type: 'merge', subresource: 'status', signal } as const;
    const named = nameFromKey(keyOf(snapshot));
    snapshots.wrote(await kube.patch(volumeSnapshots, named, body, how));
  }

  /** Always throws, so that the loop tries again with backoff. */
  async function fail(
    { reason, message, unready }: Doing<'fail'>,
    snapshot: VolumeSnapshot,
    signal: AbortSignal,
  ): Promise<never> {
    const status = failureChange(snapshot, { message, unready }, clock.now());
    if (status !== undefined) {
      recorder.event(snapshot, 'Warning', reason, message);
      await writeStatus(snapshot, status, signal);
    }
    throw new SnapshotProblem(message, undefined);
  }

  function beginMetrics(snapshot: VolumeSnapshot, content: VolumeSnapshotContent | undefined): void {
    const className = snapshot.spec.volumeSnapshotClassName ?? '';
    const driver = content?.spec.driver ?? ports.classes.get(className)?.driver;
    if (snapshot.metadata.deletionTimestamp !== undefined) {
      metrics.begin('DeleteSnapshot', snapshot, driver);
      return;
    }
    if (isReadyToUse(snapshot)) return;
    if (!isCut(snapshot)) metrics.begin('CreateSnapshot', snapshot, driver);
    metrics.begin('CreateSnapshotAndReady', snapshot, driver);
  }

  return reconcile;
}

async function orNone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
