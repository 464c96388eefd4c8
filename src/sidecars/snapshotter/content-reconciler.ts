// Brings one VolumeSnapshotContent to where it should be: reads it and its class, lets decideContent decide, and does
// it. Writes the content's annotations, finalizer and status, and Events about it; never creates or deletes contents.
//
// Nothing leaks: before the driver is first asked, the content says so and has its finalizer, in one write; that stays
// until a handle is in its status or the driver has said a final no.

import {
  type SecretReference,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
} from '../../api/kinds.ts';
import { snapshotSecret } from '../../api/snapshot-secrets.ts';
import { isOfGroup } from '../../api/snapshots.ts';
import {
  ANN_SNAPSHOT_BEING_CREATED,
  ANN_SNAPSHOT_PARAMETERS,
  ANN_SNAPSHOT_SECRET_NAME,
  ANN_SNAPSHOT_SECRET_NAMESPACE,
  FINALIZER_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import { CsiError } from '../../csi/csi-error.ts';
import { isFinal, outcomeOf } from '../../csi/outcome.ts';
import { type BackoffPolicy, backoffDelayMs } from '../../runtime/backoff.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import type { Informer } from '../../runtime/informer.ts';
import { isInvalid, isNotFound } from '../../runtime/kube-error.ts';
import { done, type Outcome, type Reconcile, requeueAfter } from '../../runtime/loop.ts';
import { hasFinalizer, removeFinalizer } from '../common/finalizers.ts';
import { type CsiSecrets, SecretError } from '../common/read-secret.ts';
import type { SidecarPorts } from '../common/sidecar.ts';
import {
  DELETED_PATCH,
  errorPatch,
  type SnapshotFacts,
  type StatusPatch,
  statusPatch,
} from './content-status.ts';
import { decideContent } from './decide-content.ts';
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
  /** How often to look again at a snapshot that is not ready. */
  pace: BackoffPolicy;
}

type FailureReason = 'SnapshotCreationFailed' | 'SnapshotContentCheckandUpdateFailed' | 'SnapshotDeleteError';

const NOT_RECORDED = { [ANN_SNAPSHOT_BEING_CREATED]: null, [ANN_SNAPSHOT_PARAMETERS]: null };

export function contentReconciler(options: ContentReconcilerOptions): Reconcile {
  const { kube, driver, clock, random, log, recorder, calls } = options;
  const contents = new ReadYourWrites(options.contents);
  /** How often in a row a snapshot was found not ready. */
  const looks = new Map<string, number>();
  options.contents.subscribe({ deleted: ({ metadata }) => looks.delete(metadata.name) });

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
        await annotate(content, NOT_RECORDED, signal);
        return done;
      case 'delete':
        return deleteSnapshot(content, decision.handle, signal);
      case 'release':
        await release(content, signal);
        return done;
      default:
        return decision satisfies never;
    }
  }

  async function create(
    content: VolumeSnapshotContent,
    volumeHandle: string,
    signal: AbortSignal,
  ): Promise<Outcome> {
    let current = content;
    let snapshot: SnapshotFacts;
    try {
      const parameters = parametersFor(content, classOf(content), options);
      const secrets = await calls.readSecret(annotatedSecret(content), signal);
      current = await record(content, parameters, signal);
      const name = snapshotNameFor(content.spec.volumeSnapshotRef.uid ?? '', options.naming);
      snapshot = await calls.create({ name, volumeHandle, parameters, secrets }, signal);
      signal.throwIfAborted();
      current = await writeStatus(current, statusPatch(current, snapshot, clock.now()), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof CsiError && isFinal(outcomeOf('CreateSnapshot', error)) && !hasHandle(current)) {
        current = await annotate(current, NOT_RECORDED, signal);
      }
      return failed(current, 'SnapshotCreationFailed', error, signal);
    }
    log.v(2).info('Made a snapshot', { content: content.metadata.name, snapshot: snapshot.handle });
    // Until it is ready the driver is asked again, with the same parameters, whatever becomes of the class.
    await annotate(current, snapshot.ready ? NOT_RECORDED : { [ANN_SNAPSHOT_BEING_CREATED]: null }, signal);
    return readyOrLater(content, snapshot);
  }

  async function look(content: VolumeSnapshotContent, handle: string, signal: AbortSignal): Promise<Outcome> {
    let snapshot: SnapshotFacts;
    try {
      const secrets = await calls.readSecret(secretToLook(content), signal);
      snapshot = await calls.look(handle, secrets, signal);
      await writeStatus(content, statusPatch(content, snapshot, clock.now()), signal);
    } catch (error) {
      return failed(content, 'SnapshotContentCheckandUpdateFailed', error, signal);
    }
    return readyOrLater(content, snapshot);
  }

  function readyOrLater({ metadata: { name } }: VolumeSnapshotContent, { ready }: SnapshotFacts): Outcome {
    if (ready) {
      looks.delete(name);
      return done;
    }
    const times = looks.get(name) ?? 0;
    looks.set(name, times + 1);
    return requeueAfter(backoffDelayMs(options.pace, times, random), 'it is not ready to use yet');
  }

  async function deleteSnapshot(
    content: VolumeSnapshotContent,
    handle: string,
    signal: AbortSignal,
  ): Promise<Outcome> {
    try {
      await calls.delete(handle, await secretToDelete(content, signal), signal);
    } catch (error) {
      return failed(content, 'SnapshotDeleteError', error, signal);
    }
    signal.throwIfAborted();
    log.v(2).info('Deleted a snapshot', { content: content.metadata.name, snapshot: handle });
    await release(content, signal);
    return done;
  }

  /**
   * The finalizer first, since with it the object mostly goes. Where others keep it, its status must not speak of a
   * snapshot that is gone. A crash in between is harmless: DeleteSnapshot is asked again and says yes again.
   */
  async function release(content: VolumeSnapshotContent, signal: AbortSignal): Promise<void> {
    const finalizer = FINALIZER_SNAPSHOT_CONTENT;
    const resource = volumeSnapshotContents;
    const left = await removeFinalizer({ kube, resource, object: content, finalizer, signal });
    if (left === undefined || (left.metadata.finalizers ?? []).length === 0) return;
    contents.wrote(left);
    const isGone = content.spec.deletionPolicy === 'Delete' && hasHandle(left) && !isOfGroup(left);
    if (isGone) await writeStatus(left, DELETED_PATCH, signal);
  }

  /** That the driver is about to be asked, and for what; and that the content stays until the answer is known. */
  async function record(
    content: VolumeSnapshotContent,
    parameters: Record<string, string>,
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent> {
    const { annotations = {}, finalizers = [], deletionTimestamp, uid, resourceVersion } = content.metadata;
    const wanted = {
      // Where a handle is known nothing can be lost any more.
      ...(!hasHandle(content) && { [ANN_SNAPSHOT_BEING_CREATED]: 'yes' }),
      [ANN_SNAPSHOT_PARAMETERS]: JSON.stringify(parameters),
    };
    const lacksFinalizer =
      deletionTimestamp === undefined && !hasFinalizer(content, FINALIZER_SNAPSHOT_CONTENT);
    const isRecorded = Object.entries(wanted).every(([key, value]) => annotations[key] === value);
    if (isRecorded && !lacksFinalizer) return content;
    const protection = { resourceVersion, finalizers: [...finalizers, FINALIZER_SNAPSHOT_CONTENT] };
    const metadata = { uid, annotations: wanted, ...(lacksFinalizer && protection) };
    return patch(content, { metadata }, signal);
  }

  async function annotate(
    content: VolumeSnapshotContent,
    annotations: Readonly<Record<string, null>>,
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent> {
    const known = content.metadata.annotations ?? {};
    if (!Object.keys(annotations).some((key) => key in known)) return content;
    return patch(content, { metadata: { uid: content.metadata.uid, annotations } }, signal);
  }

  async function writeStatus(
    content: VolumeSnapshotContent,
    status: StatusPatch | undefined,
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent> {
    if (status === undefined) return content;
    return patch(content, { metadata: { uid: content.metadata.uid }, status }, signal, 'status');
  }

  async function patch(
    { metadata: { name } }: VolumeSnapshotContent,
    body: object,
    signal: AbortSignal,
    subresource?: 'status',
  ): Promise<VolumeSnapshotContent> {
    const how = { type: 'merge', signal, ...(subresource && { subresource }) } as const;
    return contents.wrote(await kube.patch(volumeSnapshotContents, { name }, body, how));
  }

  function secretToLook(content: VolumeSnapshotContent): SecretReference | undefined {
    if (isOfGroup(content)) return annotatedSecret(content);
    const { volumeSnapshotClassName } = content.spec;
    if (volumeSnapshotClassName === undefined) return undefined;
    const found = classOf(content);
    if (!found) throw new SnapshotProblem(`VolumeSnapshotClass "${volumeSnapshotClassName}" does not exist`);
    const values = { contentName: content.metadata.name };
    const reference = snapshotSecret('snapshotter-list', found.parameters ?? {}, values);
    if ('problem' in reference) throw new SnapshotProblem(reference.problem);
    return reference.secret;
  }

  async function secretToDelete(
    content: VolumeSnapshotContent,
    signal: AbortSignal,
  ): Promise<CsiSecrets | undefined> {
    try {
      return await calls.readSecret(annotatedSecret(content), signal);
    } catch (error) {
      if (!(error instanceof SecretError && error.missing)) throw error;
      // It may have gone with its namespace; the driver says whether it can do without.
      log.warn('Deleting a snapshot without its secret', { content: content.metadata.name, err: error });
      return undefined;
    }
  }

  /** Always throws, so that the loop tries again with backoff. */
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
      await writeStatus(content, status, signal);
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

/** As the official snapshotter's messages begin. */
const BEGINNINGS: Readonly<Record<FailureReason, string>> = {
  SnapshotCreationFailed: 'Failed to create snapshot',
  SnapshotContentCheckandUpdateFailed: 'Failed to check and update snapshot content',
  SnapshotDeleteError: 'Failed to delete snapshot',
};

const hasHandle = ({ status }: VolumeSnapshotContent): boolean => Boolean(status?.snapshotHandle);

/** Resolved by the snapshot controller when it made the content. */
function annotatedSecret({ metadata }: VolumeSnapshotContent): SecretReference | undefined {
  const name = metadata.annotations?.[ANN_SNAPSHOT_SECRET_NAME];
  const namespace = metadata.annotations?.[ANN_SNAPSHOT_SECRET_NAMESPACE];
  // Half a reference is kept as it is: reading it says what is missing.
  return name === undefined && namespace === undefined
    ? undefined
    : { name: name ?? '', namespace: namespace ?? '' };
}

function concernsUser(error: unknown): error is Error {
  return (
    error instanceof CsiError ||
    error instanceof SecretError ||
    error instanceof SnapshotProblem ||
    // The API server does not take what the driver answered, say a handle that is too long.
    isInvalid(error)
  );
}
