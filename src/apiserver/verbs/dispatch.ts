// Dispatch of requests from both entry points: authorizes a request, checks that the kind serves it, and maps verb,
// kind and subresource to a function. Verbs do not authorize: nothing else may call them.

import type { KubeObject } from '../../api/object.ts';
import type { PatchType } from '../../runtime/kube/kube.ts';
import type { Kind, Subresource } from '../kind.ts';
import type { User } from '../pipeline.ts';
import { invalid, tooLong } from '../validation/checks.ts';
import { get } from './read/get.ts';
import type { ListAnswer, ListParameters } from './read/list.ts';
import {
  authorize,
  type Machine,
  type ResourceRequest,
  type WriteAnswer,
  type WriteRequest,
} from './request.ts';
import { invalidOptions, methodNotAllowed, noSuchPath } from './status.ts';
import { createSubresource, createVirtual } from './subresources/create-subresource.ts';
import { applyScale, getScale, patchScale, updateScale } from './subresources/scale.ts';
import { create } from './write/create.ts';
import { deleteOne } from './write/delete.ts';
import { deleteCollection } from './write/delete-collection.ts';
import type { DeleteParameters } from './write/deletion.ts';
import { patch } from './write/patch.ts';
import { update } from './write/update.ts';

/** The target of a request, before it is known whether it exists. */
export interface Target {
  readonly user: User;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace: string | undefined;
  /** '' for a collection. */
  readonly name: string;
  readonly subresource: string;
  readonly fieldSelector?: string | undefined;
}

/** A write with its arguments. Bodies are decoded, and private to the request except for parts of `stored`. */
export type Write =
  | { readonly verb: 'create'; readonly body: unknown }
  | { readonly verb: 'update'; readonly body: unknown; readonly stored?: KubeObject | undefined }
  | { readonly verb: 'patch'; readonly body: unknown; readonly type: PatchType; readonly force: boolean }
  | { readonly verb: 'delete'; readonly parameters: DeleteParameters }
  | {
      readonly verb: 'deletecollection';
      readonly parameters: DeleteParameters;
      readonly selected: ListParameters;
    };

export type Answer = WriteAnswer | { readonly kind: 'list'; readonly list: ListAnswer };

/**
 * Authorization comes first, as in Kubernetes: an unauthorized user learns nothing about what is served. `kind` is the
 * registry's entry for the target.
 */
export function openRequest(machine: Machine, target: Target, kind: Kind | undefined): ResourceRequest {
  const { user, verb, group, version, plural, namespace, name, fieldSelector } = target;
  authorize(machine, {
    user,
    verb,
    group,
    version,
    plural,
    subresource: target.subresource || undefined,
    namespace,
    name: name || undefined,
    fieldSelector,
  });
  if (kind === undefined) throw noSuchPath();
  const subresource = target.subresource as Subresource;
  if (subresource !== '' && !kind.subresources.includes(subresource)) throw noSuchPath();
  if (namespace !== undefined && !kind.namespaced) throw noSuchPath();
  // An object of a namespaced kind has no path without its namespace.
  if (kind.namespaced && namespace === undefined && name !== '') throw noSuchPath();
  if (!serves(kind, target)) throw methodNotAllowed(verb, kind);
  return { user, kind, namespace, name, subresource };
}

const OF_PARTS = ['get', 'update', 'patch'];

function serves(kind: Kind, { verb, namespace, name, subresource }: Target): boolean {
  switch (subresource) {
    case '':
      break;
    case 'status':
    case 'approval':
    case 'ephemeralcontainers':
    case 'resize':
    case 'scale':
      return OF_PARTS.includes(verb);
    case 'finalize':
      return verb === 'update';
    default:
      return verb === 'create';
  }
  if (kind.virtual) return verb === 'create';
  const isCollection = name === '';
  const isWholeKind = kind.namespaced && namespace === undefined;
  if (verb === 'create' && (!isCollection || isWholeKind)) return false;
  if (verb === 'deletecollection' && isWholeKind) return false;
  if ((verb === 'update' || verb === 'patch') && isCollection) return false;
  return kind.verbs.includes(verb);
}

export function read(machine: Machine, request: ResourceRequest, resourceVersion?: string): WriteAnswer {
  if (request.subresource === 'scale') {
    return { kind: 'other', body: getScale(machine, request), code: 200 };
  }
  return { kind: 'object', version: get(machine, request, resourceVersion), created: false };
}

/** The length limit of a field manager's name, as in Kubernetes. */
const MAX_MANAGER_LENGTH = 128;
const OPTIONS = { create: 'CreateOptions', update: 'UpdateOptions', patch: 'PatchOptions' } as const;

function checkFieldManager({ fieldManager }: WriteRequest, verb: Write['verb']): void {
  if (verb === 'delete' || verb === 'deletecollection') return;
  if (fieldManager.length > MAX_MANAGER_LENGTH) {
    throw invalidOptions(OPTIONS[verb], tooLong('fieldManager', MAX_MANAGER_LENGTH));
  }
  if (/\p{C}/u.test(fieldManager)) {
    throw invalidOptions(OPTIONS[verb], invalid('fieldManager', fieldManager, 'must be printable'));
  }
}

/** What can be checked without the object is rejected at once, by throwing. */
export function write(machine: Machine, request: WriteRequest, asked: Write): Promise<Answer> {
  const { kind, subresource } = request;
  checkFieldManager(request, asked.verb);
  switch (asked.verb) {
    case 'create':
      if (kind.virtual) return createVirtual(machine, request, asked.body);
      if (subresource !== '') return createSubresource(machine, request, asked.body);
      return create(machine, request, asked.body);
    case 'update':
      if (subresource === 'scale') return updateScale(machine, request, asked.body);
      return update(machine, request, asked.body, asked.stored);
    case 'patch': {
      const { body, type, force } = asked;
      if (subresource !== 'scale') return patch(machine, request, body, { type, force });
      if (type === 'apply') return applyScale(machine, request, body, { force });
      return patchScale(machine, request, body, type);
    }
    case 'delete':
      return deleteOne(machine, request, asked.parameters);
    case 'deletecollection':
      return deleteCollection(machine, request, asked.selected, asked.parameters).then((list) => ({
        kind: 'list',
        list,
      }));
  }
}
