// Reconciles one content, of a snapshot or of a group snapshot: reads it and its class, calls decideContent and performs
// the decision. Writes what content-writes.ts writes, and Events about the content; never creates or deletes contents.
//
// No snapshot is leaked: before the first call to the driver one write records it on the content and adds the
// finalizer; both stay until the status has a handle or the driver has definitely failed.

import { CsiError } from '../../csi/csi-error.ts';
import { type EarlierCalls, isFinal, outcomeOf, provesNothingMade } from '../../csi/outcome.ts';
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
import { type CsiSecrets, readSecret, SecretError } from '../common/read-secret.ts';
import type { SidecarPorts } from '../common/sidecar.ts';
import type { ContentHandle } from './attempt.ts';
import { errorPatch } from './content-error.ts';
import type { Content, ContentKind, Made, Step } from './content-kind.ts';
import { ContentWrites } from './content-writes.ts';
import { type ContentFacts, decideContent, isToGo, mayGo } from './decide-content.ts';
import { SnapshotProblem } from './snapshot-problem.ts';
import { recordedParameters } from './snapshot-request.ts';

export interface ContentReconcilerOptions<C extends Content, M extends Made>
  extends Pick<SidecarPorts, 'kube' | 'clock' | 'random' | 'log' | 'recorder'> {
  kind: ContentKind<C, M>;
  contents: Informer<C>;
}

/** Deletion was requested while the outcome was uncertain: now that it is known, the deletion proceeds at once. */
const goesNow = requeueAfter(0, 'its outcome is known, and it is to be deleted');

export function contentReconciler<C extends Content, M extends Made>(
  options: ContentReconcilerOptions<C, M>,
): Reconcile {
  const { kind, kube, clock, random, log, recorder } = options;
  const contents = new ReadYourWrites(options.contents);
  const writes = new ContentWrites<C>({ kind, kube, random, contents });
  options.contents.subscribe({ deleted: ({ metadata }) => writes.gone(metadata.uid) });

  async function reconcile(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    const content = contents.get(key);
    if (content === undefined) return done;
    const decision = decideContent(kind.factsOf(content));
    switch (decision.do) {
      case 'nothing':
        log.v(4).info('Nothing to do', { content: key, why: decision.why });
        return done;
      case 'create':
        return create(content, signal);
      case 'look':
        return look(content, signal);
      case 'delete':
        return deleteSnapshot(content, decision.handle, signal);
      case 'release':
        await writes.release(content, signal);
        return done;
      default:
        return decision satisfies never;
    }
  }

  async function create(content: C, signal: AbortSignal): Promise<Outcome> {
    let current = content;
    let made: M;
    const attempt = kind.attemptOn(content);
    let earlier: EarlierCalls = attempt.is === 'asking' ? attempt.earlier : 'none';
    try {
      const recorded = content.metadata.annotations?.[kind.record.parameters];
      const parameters = recordedParameters(recorded) ?? kind.classParameters(content);
      const isGoing = content.metadata.deletionTimestamp !== undefined;
      const secrets = await (isGoing ? secretIfThere(content, signal) : secretOf(content, signal));
      if (secrets === undefined && kind.secret(content) && earlier === 'the same') earlier = 'something else';
      current = await writes.record(content, parameters, signal);
      made = await kind.create(content, { parameters, secrets }, signal);
      signal.throwIfAborted();
      current = await writes.status(current, kind.statusOf(current, made, clock.now()), signal);
    } catch (error) {
      signal.throwIfAborted();
      const verdict = outcomeOf(kind.createCall, error);
      // With a known handle the record is needed until no call is in flight.
      const isWell = isReady(current) && !isLeaving(current);
      const isOver =
        kind.attemptOn(current).is === 'recorded'
          ? isFinal(verdict) && (isLeaving(current) || isWell)
          : provesNothingMade(verdict, earlier);
      if (isOver) {
        current = await writes.forget(current, 'all', signal);
        if (mayGo(kind.factsOf(current))) return goesNow;
      }
      // The user's snapshot is there and ready: it was only to be found out whether a call is in flight.
      if (isWell) return isOver ? done : retryLater({ why: 'a call may be in flight', quiet: true });
      return failed(current, 'create', error, signal);
    }
    log.v(2).info(`Created a ${kind.noun}`, { content: content.metadata.name, snapshot: made.handle });
    // Until the snapshot is ready the call is repeated with the same parameters, even if the class changes or is
    // deleted.
    await writes.forget(current, made.ready || isLeaving(current) ? 'all' : 'attempt', signal);
    return readyOrLater(content, made);
  }

  async function look(content: C, signal: AbortSignal): Promise<Outcome> {
    let found: M;
    try {
      const reference = kind.secretToLook(content);
      const secrets = reference && (await readSecret(kube, reference, { signal }));
      found = await kind.look(content, secrets, signal);
      await writes.status(content, kind.statusOf(content, found, clock.now()), signal);
    } catch (error) {
      return failed(content, 'look', error, signal);
    }
    return readyOrLater(content, found);
  }

  /** As last seen: the deletion may have been requested during the call. */
  function isLeaving(content: C): boolean {
    return isToGo(factsNow(content));
  }

  function isReady(content: C): boolean {
    return factsNow(content).content.status?.readyToUse === true;
  }

  function factsNow(content: C): ContentFacts {
    return kind.factsOf(contents.get(content.metadata.name) ?? content);
  }

  function readyOrLater({ metadata: { name } }: C, { ready }: M): Outcome {
    const latest = contents.get(name);
    if (latest !== undefined && mayGo(kind.factsOf(latest))) return goesNow;
    return ready ? done : retryLater({ why: 'it is not ready to use yet', quiet: true });
  }

  async function deleteSnapshot(content: C, handle: ContentHandle, signal: AbortSignal): Promise<Outcome> {
    try {
      await kind.delete(content, await secretIfThere(content, signal), signal);
    } catch (error) {
      return failed(content, 'delete', error, signal);
    }
    signal.throwIfAborted();
    log.v(2).info(`Deleted a ${kind.noun}`, { content: content.metadata.name, snapshot: handle });
    await writes.release(content, signal);
    return done;
  }

  async function secretOf(content: C, signal: AbortSignal): Promise<CsiSecrets | undefined> {
    const reference = kind.secret(content);
    return reference && readSecret(kube, reference, { signal });
  }

  async function secretIfThere(content: C, signal: AbortSignal): Promise<CsiSecrets | undefined> {
    try {
      return await secretOf(content, signal);
    } catch (error) {
      if (!(error instanceof SecretError && error.missing)) throw error;
      // The Secret may have been deleted with its namespace; the driver decides whether it needs it.
      log.warn(`Deleting a ${kind.noun} without its secret`, {
        content: content.metadata.name,
        err: error,
      });
      return undefined;
    }
  }

  /** Always throws, so that the loop retries with backoff. */
  async function failed(content: C, step: Step, error: unknown, signal: AbortSignal): Promise<never> {
    signal.throwIfAborted();
    if (!concernsUser(error)) throw error;
    const message = `Failed to ${BEGINNINGS[step](kind.noun)}: ${error.message}`;
    const status = errorPatch(content, message, clock.now());
    if (status !== undefined) recorder.event(content, 'Warning', kind.reasons[step], message);
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

/** The words of the official snapshotter's messages. */
const BEGINNINGS: Readonly<Record<Step, (noun: string) => string>> = {
  create: (noun) => `create ${noun}`,
  look: (noun) => `check and update ${noun} content`,
  delete: (noun) => `delete ${noun}`,
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
