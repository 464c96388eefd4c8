// The snapshotter's writes to a content: the record of a call, the status, and the removal of the finalizer. Each write
// is for one UID only, and its result is kept as the newest version.

import type { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { hasFinalizer, removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isConflict } from '../../runtime/kube/kube-error.ts';
import type { Random } from '../../runtime/ports.ts';
import type { Content, ContentKind, StatusPatch } from './content-kind.ts';
import { parametersRecord } from './snapshot-request.ts';

/** What the writes need to know of a kind. */
type WrittenKind<C extends Content> = Pick<
  ContentKind<C, never>,
  'resource' | 'finalizer' | 'record' | 'deletedStatus' | 'factsOf' | 'attemptOn'
>;

export class ContentWrites<C extends Content> {
  readonly #kind: WrittenKind<C>;
  readonly #kube: KubeClient;
  readonly #contents: ReadYourWrites<C>;
  readonly #random: Random;
  /** By the content's UID: records that this process is sure are stored. */
  readonly #own = new Map<string, string>();

  constructor(options: {
    kind: WrittenKind<C>;
    kube: KubeClient;
    random: Random;
    contents: ReadYourWrites<C>;
  }) {
    this.#kind = options.kind;
    this.#kube = options.kube;
    this.#random = options.random;
    this.#contents = options.contents;
  }

  /** The object is gone. */
  gone(uid: string): void {
    this.#own.delete(uid);
  }

  /**
   * Records that the driver is about to be called, and with what; the finalizer keeps the content until the outcome is
   * known. Each record is unique, and each process writes its own: the removal of an earlier record, by this or a
   * previous process, may still be in flight and could otherwise take effect after the call.
   */
  async record(content: C, parameters: Record<string, string>, signal: AbortSignal): Promise<C> {
    const { annotations = {}, finalizers = [], deletionTimestamp, uid, resourceVersion } = content.metadata;
    const { record, finalizer } = this.#kind;
    const known = annotations[record.parameters];
    const isProtected = deletionTimestamp !== undefined || hasFinalizer(content, finalizer);
    const isRecorded = known !== undefined && known === this.#own.get(uid);
    if (isRecorded && isProtected) return content;
    const value = parametersRecord(parameters, this.#random.suffix(8));
    const protection = { resourceVersion, finalizers: [...finalizers, finalizer] };
    const metadata = {
      uid,
      annotations: {
        ...(!this.#hasHandle(content) && { [record.beingCreated]: 'yes' }),
        [record.parameters]: value,
      },
      ...(!isProtected && protection),
    };
    const written = await this.#merge(content, { metadata }, signal);
    this.#own.set(uid, value);
    return written;
  }

  /**
   * `attempt`: no call is in flight. `all`: nor will there be another. Removes exactly this record and no later one.
   */
  async forget(content: C, what: 'attempt' | 'all', signal: AbortSignal): Promise<C> {
    const { uid, name, annotations = {} } = content.metadata;
    const path = (key: string): string => `/metadata/annotations/${key.replaceAll('/', '~1')}`;
    const { beingCreated, parameters } = this.#kind.record;
    const both = [beingCreated, parameters].filter((key) => key in annotations);
    const gone = what === 'all' ? both : both.filter((key) => key === beingCreated);
    if (gone.length === 0) return content;
    const patch = [
      { op: 'test', path: '/metadata/uid', value: uid },
      ...both.map((key) => ({ op: 'test', path: path(key), value: annotations[key] })),
      ...gone.map((key) => ({ op: 'remove', path: path(key) })),
    ];
    // From here on it is unknown whether the record is stored, until the response arrives.
    this.#own.delete(uid);
    const how = { type: 'json', signal } as const;
    return this.#contents.wrote(await this.#kube.patch(this.#kind.resource, { name }, patch, how));
  }

  /**
   * What takes something back is written only over the version it was decided on: late, it would make a snapshot unready that
   * became ready since. The rest, above all the handle, is written in any case.
   */
  async status(content: C, status: StatusPatch | undefined, signal: AbortSignal): Promise<C> {
    if (status === undefined) return content;
    const { uid, resourceVersion } = content.metadata;
    const write = (metadata: object, fields: StatusPatch) =>
      this.#merge(content, { metadata, status: fields }, signal, 'status');
    const { readyToUse, error, ...forward } = status;
    if (readyToUse !== false && !error) return write({ uid }, status);
    try {
      return await write({ uid, resourceVersion }, status);
    } catch (problem) {
      if (!isConflict(problem) || Object.keys(forward).length === 0) throw problem;
      return write({ uid }, forward);
    }
  }

  /**
   * The finalizer first, since that mostly deletes the object. Where other finalizers keep it, its status must not show
   * a deleted snapshot. A crash in between is harmless: Delete… is called again and is idempotent.
   */
  async release(content: C, signal: AbortSignal): Promise<void> {
    const left = await removeFinalizer({
      kube: this.#kube,
      resource: this.#kind.resource,
      object: content,
      finalizer: this.#kind.finalizer,
      signal,
    });
    if (left === undefined || (left.metadata.finalizers ?? []).length === 0) return;
    this.#contents.wrote(left);
    const isOwn = content.spec.deletionPolicy === 'Delete' && !this.#kind.factsOf(left).isMember;
    if (isOwn && this.#hasHandle(left)) await this.status(left, this.#kind.deletedStatus, signal);
  }

  #hasHandle(content: C): boolean {
    return this.#kind.attemptOn(content).is === 'recorded';
  }

  async #merge(
    { metadata: { name } }: C,
    body: object,
    signal: AbortSignal,
    subresource?: 'status',
  ): Promise<C> {
    const how = { type: 'merge', signal, ...(subresource && { subresource }) } as const;
    return this.#contents.wrote(await this.#kube.patch(this.#kind.resource, { name }, body, how));
  }
}
