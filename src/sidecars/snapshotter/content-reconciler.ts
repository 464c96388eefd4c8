// Reconciles one VolumeSnapshotContent: reads it and its class, calls decideContent and performs the decision. Writes
// what content-writes.ts writes, and Events about the content; never creates or deletes contents.
//
// No snapshot is leaked: before the first call to the driver one write records it on the content and adds the
// finalizer; both stay until the status has a handle or the driver has definitely failed.

import type { VolumeSnapshotClass, VolumeSnapshotContent } from '../../api/kinds.ts';
import { CsiError } from '../../csi/csi-error.ts';
import type { SnapshotHandle, VolumeHandle } from '../../csi/names/driver-name.ts';
import { type EarlierCalls, outcomeOf, provesNothingMade } from '../../csi/outcome.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { isInvalid, isNotFound } from '../../runtime/kube/kube-error.ts';
import {
  done,
  type Outcome,
  type Reconcile,
  requeueAfter,
  failed as retryLater,
} from '../../runtime/queue/loop.ts';
import { type CsiSecrets, SecretError } from '../common/read-secret.ts';
import type { SidecarPorts } from '../common/sidecar.ts';
import { attemptOn } from './attempt.ts';
import { annotatedSecret, secretToLook } from './content-secrets.ts';
import { errorPatch, type SnapshotFacts, statusPatch } from './content-status.ts';
import { ContentWrites } from './content-writes.ts';
import { decideContent, mayGo } from './decide-content.ts';
import type { SnapshotCalls } from './snapshot-calls.ts';
import { SnapshotProblem } from './snapshot-problem.ts';
import { parametersFor, type SnapshotNaming, snapshotNameFor } from './snapshot-request.ts';

export interface ContentReconcilerOptions
  extends Pick<SidecarPorts, 'kube' | 'driver' | 'clock' | 'random' | 'log' | 'recorder'> {
  contents: Informer<VolumeSnapshotContent>;
  classes: Informer<VolumeSnapshotClass>;
  calls: SnapshotCalls;
  naming: SnapshotNaming;
  extraCreateMetadata: boolean;
}

type FailureReason = 'SnapshotCreationFailed' | 'SnapshotContentCheckandUpdateFailed' | 'SnapshotDeleteError';

/** Deletion was requested while the outcome was uncertain: now that it is known, the deletion proceeds at once. */
const goesNow = requeueAfter(0, 'its outcome is known, and it is to be deleted');

export function contentReconciler(options: ContentReconcilerOptions): Reconcile {
  const { kube, driver, clock, random, log, recorder, calls } = options;
  const contents = new ReadYourWrites(options.contents);
  const writes = new ContentWrites({ kube, random, contents });
  options.contents.subscribe({ deleted: ({ metadata }) => writes.gone(metadata.uid) });

  const classOf = ({ spec }: VolumeSnapshotContent) =>
    spec.volumeSnapshotClassName === undefined
      ? undefined
      : options.classes.get(spec.volumeSnapshotClassName);

  async function reconcile(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    const content = contents.get(key);
    if (content === undefined) return done;
    const facts = { content, driver: driver.name, classDriver: classOf(content)?.driver };
    const decision = decideContent(facts);
    switch (decision.do) {
      case 'nothing':
        log.v(4).info('Nothing to do', { content: key, why: decision.why });
        return done;
      case 'create':
        return create(content, decision.volumeHandle, signal);
      case 'look':
        return look(content, decision.handle, signal);
      case 'tidy':
        await writes.forget(content, 'all', signal);
        return done;
      case 'delete':
        return deleteSnapshot(content, decision.handle, signal);
      case 'release':
        await writes.release(content, signal);
        return done;
      default:
        return decision satisfies never;
    }
  }

  async function create(
    content: VolumeSnapshotContent,
    volumeHandle: VolumeHandle,
    signal: AbortSignal,
  ): Promise<Outcome> {
    let current = content;
    let snapshot: SnapshotFacts;
    const attempt = attemptOn(content);
    let earlier: EarlierCalls = attempt.is === 'asking' ? attempt.earlier : 'none';
    try {
      const parameters = parametersFor(content, classOf(content), options);
      const isGoing = content.metadata.deletionTimestamp !== undefined;
      const secrets = await (isGoing
        ? secretIfThere(content, signal)
        : calls.readSecret(annotatedSecret(content), signal));
      if (secrets === undefined && annotatedSecret(content) && earlier === 'the same')
        earlier = 'something else';
      current = await writes.record(content, parameters, signal);
      const name = snapshotNameFor(content.spec.volumeSnapshotRef.uid ?? '', options.naming);
      snapshot = await calls.create({ name, volumeHandle, parameters, secrets }, signal);
      signal.throwIfAborted();
      current = await writes.status(current, statusPatch(current, snapshot, clock.now()), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (
        provesNothingMade(outcomeOf('CreateSnapshot', error), earlier) &&
        attemptOn(current).is !== 'recorded'
      ) {
        current = await writes.forget(current, 'all', signal);
        if (mayGo(current)) return goesNow;
      }
      return failed(current, 'SnapshotCreationFailed', error, signal);
    }
    log.v(2).info('Created a snapshot', { content: content.metadata.name, snapshot: snapshot.handle });
    // Until the snapshot is ready the call is repeated with the same parameters, even if the class changes or is
    // deleted.
    await writes.forget(current, snapshot.ready ? 'all' : 'attempt', signal);
    return readyOrLater(content, snapshot);
  }

  async function look(
    content: VolumeSnapshotContent,
    handle: SnapshotHandle,
    signal: AbortSignal,
  ): Promise<Outcome> {
    let snapshot: SnapshotFacts;
    try {
      const secrets = await calls.readSecret(secretToLook(content, classOf(content)), signal);
      snapshot = await calls.look(handle, secrets, signal);
      await writes.status(content, statusPatch(content, snapshot, clock.now()), signal);
    } catch (error) {
      return failed(content, 'SnapshotContentCheckandUpdateFailed', error, signal);
    }
    return readyOrLater(content, snapshot);
  }

  function readyOrLater({ metadata: { name } }: VolumeSnapshotContent, { ready }: SnapshotFacts): Outcome {
    const latest = contents.get(name);
    if (latest !== undefined && mayGo(latest)) return goesNow;
    return ready ? done : retryLater({ why: 'it is not ready to use yet', quiet: true });
  }

  async function deleteSnapshot(
    content: VolumeSnapshotContent,
    handle: SnapshotHandle,
    signal: AbortSignal,
  ): Promise<Outcome> {
    try {
      await calls.delete(handle, await secretIfThere(content, signal), signal);
    } catch (error) {
      return failed(content, 'SnapshotDeleteError', error, signal);
    }
    signal.throwIfAborted();
    log.v(2).info('Deleted a snapshot', { content: content.metadata.name, snapshot: handle });
    await writes.release(content, signal);
    return done;
  }

  async function secretIfThere(
    content: VolumeSnapshotContent,
    signal: AbortSignal,
  ): Promise<CsiSecrets | undefined> {
    try {
      return await calls.readSecret(annotatedSecret(content), signal);
    } catch (error) {
      if (!(error instanceof SecretError && error.missing)) throw error;
      // The Secret may have been deleted with its namespace; the driver decides whether it needs it.
      log.warn('Deleting a snapshot without its secret', {
        content: content.metadata.name,
        err: error,
      });
      return undefined;
    }
  }

  /** Always throws, so that the loop retries with backoff. */
  async function failed(
    content: VolumeSnapshotContent,
    reason: FailureReason,
    error: unknown,
    signal: AbortSignal,
  ): Promise<never> {
    signal.throwIfAborted();
    if (!concernsUser(error)) throw error;
    const message = `${BEGINNINGS[reason]}: ${error.message}`;
    const status = errorPatch(content, message, clock.now());
    if (status !== undefined) recorder.event(content, 'Warning', reason, message);
    try {
      await writes.status(content, status, signal);
    } catch (problem) {
      if (!isNotFound(problem)) {
        log.v(2).info('Could not write the error into the content', {
          content: content.metadata.name,
          err: problem,
        });
      }
    }
    throw error;
  }

  return reconcile;
}

/** Prefixes of the official snapshotter's messages. */
const BEGINNINGS: Readonly<Record<FailureReason, string>> = {
  SnapshotCreationFailed: 'Failed to create snapshot',
  SnapshotContentCheckandUpdateFailed: 'Failed to check and update snapshot content',
  SnapshotDeleteError: 'Failed to delete snapshot',
};

function concernsUser(error: unknown): error is Error {
  return (
    error instanceof CsiError ||
    error instanceof SecretError ||
    error instanceof SnapshotProblem ||
    // The API server rejects the driver's response, for example a handle that is too long.
    isInvalid(error)
  );
}
