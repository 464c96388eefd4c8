// Creates an object: sets its name and identity, runs admission and validation, stores it.

import type { KubeObject } from '../../../api/object.ts';
import { deleteOwn } from '../../../api/own-property.ts';
import { isAlreadyExists } from '../../../runtime/kube/kube-error.ts';
import { trackManagedFields } from '../../patch/managed-fields.ts';
import { Version } from '../../storage/version.ts';
import { timestamp } from '../../timestamp.ts';
import { present, storageTypeOf, toStored } from '../presentation.ts';
import { copyOf, keyFor, type Machine, type WriteAnswer, type WriteRequest } from '../request.ts';
import { alreadyExists, nameCollisions, unclassified } from '../status.ts';
import { admitCreate } from './admit.ts';
import { decodeObject } from './decode-object.ts';

/** Kubernetes truncates the base so that the whole name still fits a label. */
const MAX_GENERATED_BASE = 58;
const SUFFIX_LENGTH = 5;
/** A 27-letter alphabet and five letters: eight collisions in a row mean that something else is wrong. */
const MAX_NAME_ATTEMPTS = 8;

/** `body` is private to the request. */
export async function create(machine: Machine, request: WriteRequest, body: unknown): Promise<WriteAnswer> {
  const draft = decodeObject(body, request);
  const { resourceVersion } = draft.metadata;
  if (resourceVersion !== undefined && resourceVersion !== '0') {
    throw unclassified('resourceVersion should not be set on objects to be created');
  }
  if (resourceVersion !== undefined)
    deleteOwn(draft.metadata as object as Record<string, unknown>, 'resourceVersion');
  const { generateName, name } = draft.metadata;
  if (name !== undefined || generateName === undefined) return await createNamed(machine, request, draft);
  for (let attempt = 1; ; attempt++) {
    const object = copyOf(draft);
    object.metadata.name = generateName.slice(0, MAX_GENERATED_BASE) + machine.random.suffix(SUFFIX_LENGTH);
    try {
      return await createNamed(machine, request, object);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      if (attempt === MAX_NAME_ATTEMPTS) throw nameCollisions(request.kind, object.metadata.name);
    }
  }
}

async function createNamed(machine: Machine, request: WriteRequest, draft: KubeObject): Promise<WriteAnswer> {
  const { kind, namespace } = request;
  const type = storageTypeOf(kind);
  const key = keyFor(namespace, draft.metadata.name ?? '');
  const prepare = (current: Version | undefined): KubeObject => {
    // As in Kubernetes, an object that no server would store is invalid even where its name is taken.
    const object = prepareCreate(machine, request, draft);
    if (current !== undefined) throw alreadyExists(kind, draft.metadata.name);
    return object;
  };
  if (request.dryRun) {
    const object = prepare(machine.store.head(type, key));
    return { kind: 'object', version: present(dryRunVersion(key, object, machine), kind), created: true };
  }
  const version = await machine.store.write(type, key, (current) => ({
    kind: 'put',
    object: prepare(current),
  }));
  return { kind: 'object', version: present(version, kind), created: true };
}

/** The object as it will be stored, without its resourceVersion. Server-side apply creates with it, too. */
export function prepareCreate(
  machine: Machine,
  request: WriteRequest,
  object: KubeObject,
  options: { tracked: boolean } = { tracked: false },
): KubeObject {
  const { kind, fieldManager, subresource } = request;
  const { metadata } = object;
  metadata.uid = machine.random.uuid();
  metadata.creationTimestamp = timestamp(machine.clock.now());
  if (metadata.deletionTimestamp !== undefined) delete metadata.deletionTimestamp;
  if (metadata.deletionGracePeriodSeconds !== undefined) delete metadata.deletionGracePeriodSeconds;
  if (kind.hasGeneration && !kind.startsWithoutGeneration) metadata.generation = 1;
  admitCreate(machine, request, object, (next) => {
    if (options.tracked || !machine.tracksFields) return;
    trackManagedFields({
      next,
      current: undefined,
      manager: fieldManager,
      operation: 'Update',
      kind,
      subresource,
      nowMs: machine.clock.now(),
      fieldSets: machine.fieldSets,
    });
  });
  return toStored(object, kind);
}

/** The result of a dry run: the object that would have been stored, in the version that it would be stored in. */
export function dryRunVersion(key: string, object: KubeObject, { store }: Machine): Version {
  return new Version({ key, revision: store.revision, object, freeze: false });
}
