// What differs between contents of snapshots and of group snapshots. The reconciler and its writes work with either, so
// that both are created, recorded and deleted by the same steps.

import type { SecretReference } from '../../api/kinds.ts';
import type { KubeObject, Resource } from '../../api/object.ts';
import type { CsiSecrets } from '../common/read-secret.ts';
import type { Attempt, ContentHandle, RecordKeys } from './attempt.ts';
import type { ContentFacts } from './decide-content.ts';

export type Content = KubeObject & ContentFacts['content'];

/** A merge patch of a content's status; null removes a field. */
export type StatusPatch = Readonly<Record<string, unknown>>;

export interface Made {
  handle: ContentHandle;
  ready: boolean;
}

export type Step = 'create' | 'look' | 'delete';

export interface ContentKind<C extends Content, M extends Made> {
  readonly resource: Resource<C>;
  /** For messages. */
  readonly noun: 'snapshot' | 'group snapshot';
  readonly createCall: 'CreateSnapshot' | 'CreateVolumeGroupSnapshot';
  readonly finalizer: string;
  readonly record: RecordKeys;
  /** The official snapshotter's event reasons. */
  readonly reasons: Readonly<Record<Step, string>>;
  /** The status of a content whose snapshot is gone from the storage. */
  readonly deletedStatus: StatusPatch;
  factsOf(content: C): ContentFacts;
  attemptOn(content: C): Attempt;
  /** The parameters of the class for the driver. Throws a SnapshotProblem. */
  classParameters(content: C): Record<string, string>;
  /** For creation and deletion: resolved by the snapshot controller when it created the content. */
  secret(content: C): SecretReference | undefined;
  /** For the look. Throws a SnapshotProblem. */
  secretToLook(content: C): SecretReference | undefined;
  create(
    content: C,
    request: { parameters: Record<string, string>; secrets: CsiSecrets | undefined },
    signal: AbortSignal,
  ): Promise<M>;
  look(content: C, secrets: CsiSecrets | undefined, signal: AbortSignal): Promise<M>;
  delete(content: C, secrets: CsiSecrets | undefined, signal: AbortSignal): Promise<void>;
  /** Undefined when the status is so already. A recorded value is kept: others have acted on it. */
  statusOf(content: C, made: M, nowMs: number): StatusPatch | undefined;
}
