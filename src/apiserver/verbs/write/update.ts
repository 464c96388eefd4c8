// Replaces an object, or one of its subresources. Fields that the write may not change are restored; a write that
// changes nothing stores nothing; removing the last finalizer of a deleted object removes it.

import type { KubeObject, ManagedFieldsEntry } from '../../../api/object.ts';
import { getOwn } from '../../../api/own-property.ts';
import { sameJson } from '../../../api/same-json.ts';
import type { Kind } from '../../kind.ts';
import { trackManagedFields } from '../../patch/managed-fields.ts';
import type { Plan } from '../../storage/store.ts';
import type { Version } from '../../storage/version.ts';
import { IMMUTABLE, invalid as invalidValue } from '../../validation/checks.ts';
import { present, storageTypeOf, toStored } from '../presentation.ts';
import { isObject, keyFor, type Machine, type WriteAnswer, type WriteRequest } from '../request.ts';
import { badRequest, conflict, invalid, nameless, notFound, staleWrite, unclassified } from '../status.ts';
import { admitUpdate } from './admit.ts';
import { dryRunVersion, prepareCreate } from './create.ts';
import { decodeObject } from './decode-object.ts';
import { isFinished } from './deletion.ts';

/** `body` is private to the request, except for parts that it shares with `stored`. Invalid requests throw at once. */
export function update(
  machine: Machine,
  request: WriteRequest,
  body: unknown,
  stored?: KubeObject,
): Promise<WriteAnswer> {
  const { kind, name } = request;
  const draft = decodeObject(body, request, stored);
  if (draft.metadata.name === undefined) throw nameless(name);
  if (draft.metadata.name !== name) {
    throw badRequest(
      `the name of the object (${draft.metadata.name}) does not match the name on the URL (${name})`,
    );
  }
  return writeUpdate(machine, request, (current) => {
    if (current !== undefined) {
      checkUid(kind, name, draft, present(current, kind).object);
      return planUpdate(machine, request, draft, current);
    }
    if (!kind.writes.createdByUpdate || request.subresource !== '') throw notFound(kind, name);
    checkUid(kind, name, draft, undefined);
    return { kind: 'put', object: prepareCreate(machine, request, draft) };
  });
}

/** Runs a plan through the store, or only evaluates it on a dry run. */
export function writeUpdate(
  machine: Machine,
  request: WriteRequest,
  plan: (current: Version | undefined) => Plan,
): Promise<WriteAnswer> {
  const { kind, namespace, name } = request;
  const type = storageTypeOf(kind);
  const key = keyFor(namespace, name);
  let created = false;
  const decide = (current: Version | undefined): Plan => {
    created = current === undefined;
    return plan(current);
  };
  const answer = (version: Version): WriteAnswer => ({
    kind: 'object',
    version: present(version, kind),
    created,
  });
  if (!request.dryRun) return machine.store.write(type, key, decide).then(answer);
  const decided = decide(machine.store.head(type, key));
  const version = decided.kind === 'keep' ? decided.version : dryRunVersion(key, decided.object, machine);
  return Promise.resolve(answer(version));
}

export function planUpdate(
  machine: Machine,
  request: WriteRequest,
  draft: KubeObject,
  stored: Version,
  options: { tracked: boolean } = { tracked: false },
): Plan {
  const { kind, name, fieldManager, subresource } = request;
  const current = present(stored, kind).object;
  checkPreconditions(kind, name, draft, current);
  const next = ownSections(draft, current);
  restoreIdentity(next, current);
  // Absent means unchanged; an empty list means "drop all ownership". Apply has computed the owners already.
  if (!options.tracked && next.metadata.managedFields === undefined && current.metadata.managedFields) {
    next.metadata.managedFields = current.metadata.managedFields;
  }
  admitUpdate(machine, request, next, current, {
    track(object) {
      if (options.tracked || !machine.tracksFields) return;
      trackManagedFields({
        next: object,
        current,
        manager: fieldManager,
        operation: 'Update',
        kind,
        subresource,
        nowMs: machine.clock.now(),
        fieldSets: machine.fieldSets,
      });
    },
    afterMutation(object) {
      if (kind.hasGeneration && specChanged(object, current, kind)) {
        object.metadata.generation = (current.metadata.generation ?? 0) + 1;
      }
    },
  });
  if (isFinished(next, kind)) return { kind: 'remove', object: toStored(next, kind) };
  next.metadata.resourceVersion = current.metadata.resourceVersion;
  if (sameButForTimes(next, current)) return { kind: 'keep', version: stored };
  return { kind: 'put', object: toStored(next, kind) };
}

/** The stored object is not mutated: sections that the draft shares with it are copied. */
function ownSections(draft: KubeObject, current: KubeObject): KubeObject {
  const own = draft as KubeObject & Record<string, unknown>;
  const shared = current as KubeObject & Record<string, unknown>;
  for (const field of Object.keys(own)) {
    const section = own[field];
    if (section === getOwn(shared, field) && isObject(section)) own[field] = { ...section };
  }
  return draft;
}

function checkPreconditions(kind: Kind, name: string, draft: KubeObject, current: KubeObject): void {
  const { resourceVersion = '0', uid } = draft.metadata;
  if (resourceVersion === '0') {
    if (kind.writes.needsVersion) {
      const field = 'metadata.resourceVersion';
      const named = { group: kind.group, kind: kind.plural };
      throw invalid(named, name, [invalidValue(field, 0, 'must be specified for an update')]);
    }
  } else if (resourceVersion !== current.metadata.resourceVersion) {
    if (!/^[0-9]+$/.test(resourceVersion)) throw unclassified(`"${resourceVersion}" is no resource version`);
    throw staleWrite(kind, name);
  }
  if (uid !== undefined && uid !== current.metadata.uid) {
    throw invalid(kind, name, [invalidValue('metadata.uid', uid, IMMUTABLE)]);
  }
}

/** A whole object that names a uid replaces only that one. */
function checkUid(kind: Kind, name: string, { metadata }: KubeObject, current: KubeObject | undefined): void {
  const { uid } = metadata;
  if (uid === undefined || uid === current?.metadata.uid) return;
  const found = current?.metadata.uid ?? '';
  throw conflict(
    kind,
    name,
    `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found}`,
  );
}

const KEPT = ['generation', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generateName'] as const;

const DELETION: ReadonlySet<string> = new Set(['deletionTimestamp', 'deletionGracePeriodSeconds']);

/** Fields that only the server sets, whatever the client sent. */
function restoreIdentity(next: KubeObject, current: KubeObject): void {
  const { metadata } = next;
  const own = current.metadata;
  metadata.uid = own.uid;
  metadata.creationTimestamp = own.creationTimestamp;
  for (const field of KEPT) {
    if (own[field] !== undefined) (metadata as Record<typeof field, unknown>)[field] = own[field];
    // Validation rejects an update that sets a deletion field.
    else if (metadata[field] !== undefined && !DELETION.has(field)) delete metadata[field];
  }
}

function specChanged(next: KubeObject, current: KubeObject, kind: Kind): boolean {
  const { counts } = kind.writes;
  if (counts && !sameJson(next.metadata[counts] ?? {}, current.metadata[counts] ?? {})) return true;
  return !sameSections(next, current, (section) => section === 'metadata' || section === 'status');
}

/** A write that only renews the times in managed fields is no change. */
function sameButForTimes(next: KubeObject, current: KubeObject): boolean {
  if (!sameSections(next, current, (section) => section === 'metadata')) return false;
  const [left, right] = [next.metadata, current.metadata];
  return (
    sameSections(left, right, (field) => field === 'managedFields') &&
    sameOwners(left.managedFields ?? NOBODY, right.managedFields ?? NOBODY)
  );
}

const NOBODY: readonly ManagedFieldsEntry[] = [];

function sameOwners(next: readonly ManagedFieldsEntry[], current: readonly ManagedFieldsEntry[]): boolean {
  if (next === current) return true;
  const isTime = (field: string) => field === 'time';
  return (
    next.length === current.length &&
    next.every((entry, index) => sameSections(entry, current[index] as ManagedFieldsEntry, isTime))
  );
}

function sameSections(a: object, b: object, leftOut: (section: string) => boolean): boolean {
  const [left, right] = [a, b] as Record<string, unknown>[];
  for (const key in left) if (!leftOut(key) && !sameJson(left[key], getOwn(right, key))) return false;
  for (const key in right) {
    if (!leftOut(key) && right[key] !== undefined && getOwn(left, key) === undefined) return false;
  }
  return true;
}
