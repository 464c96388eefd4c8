// Lists the objects of a kind, whole or in pages that all show one revision.

import type { Version } from '../../storage/version.ts';
import { forbidden, notSupported } from '../../validation/checks.ts';
import { present, storageTypeOf } from '../presentation.ts';
import type { Machine, ResourceRequest } from '../request.ts';
import {
  badRequest,
  ExpiredContinueError,
  expired,
  invalidOptions,
  tooLargeResourceVersion,
} from '../status.ts';
import { decodeContinueToken, encodeContinueToken } from './continue-token.ts';
import { type CompiledSelection, compileSelection } from './selection.ts';
import { finish, STEP } from './steps.ts';

export interface ListParameters {
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  limit?: number | undefined;
  continue?: string | undefined;
  resourceVersion?: string | undefined;
  resourceVersionMatch?: string | undefined;
  /** Only for watches: a list with it is rejected. */
  sendInitialEvents?: boolean | undefined;
}

export interface ListAnswer {
  items: Version[];
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
}

export function list(machine: Machine, request: ResourceRequest, parameters: ListParameters): ListAnswer {
  return finish(listSteps(machine, request, parameters));
}

/** The same in steps. All of them show the revision of the first. */
export function listSteps(
  machine: Machine,
  request: ResourceRequest,
  parameters: ListParameters,
): Generator<void, ListAnswer> {
  const { kind, namespace, name } = request;
  const { labelSelector, fieldSelector } = parameters;
  const selection = compileSelection({ kind, namespace, name, labelSelector, fieldSelector });
  return selectedSteps(machine, request, selection, parameters);
}

export function listSelected(
  machine: Pick<Machine, 'store'>,
  request: Pick<ResourceRequest, 'kind'>,
  selection: CompiledSelection,
  parameters: ListParameters,
): ListAnswer {
  return finish(selectedSteps(machine, request, selection, parameters));
}

function* selectedSteps(
  { store }: Pick<Machine, 'store'>,
  { kind }: Pick<ResourceRequest, 'kind'>,
  selection: CompiledSelection,
  parameters: ListParameters,
): Generator<void, ListAnswer> {
  const type = storageTypeOf(kind);
  const { revision, startAfter } = positionOf(store, parameters);
  // The character after the last key of the previous page: keys never contain it.
  const from = startAfter === '' ? selection.prefix : `${startAfter}\u0000`;
  const source =
    revision === store.revision
      ? sourceNow(store, type, selection, from)
      : store.rangeAt(type, selection.prefix, from, revision);
  // 0 and less means no limit, as in Kubernetes.
  const limit = parameters.limit && parameters.limit > 0 ? parameters.limit : Number.POSITIVE_INFINITY;
  const items: Version[] = [];
  let more = 0;
  let looked = 0;
  // Versions are immutable: selecting from them later still shows this revision.
  for (const version of [...source]) {
    if (++looked % STEP === 0) yield;
    if (selection.selective && !selection.matches(version)) continue;
    if (items.length < limit) items.push(present(version, kind));
    else {
      more++;
      // remainingItemCount is set only without selectors, as in Kubernetes.
      if (selection.selective) break;
    }
  }
  const metadata: ListAnswer['metadata'] = { resourceVersion: String(revision) };
  if (more > 0) {
    metadata.continue = encodeContinueToken({ revision, startAfter: items.at(-1)?.key ?? '' });
    if (!selection.selective) metadata.remainingItemCount = more;
  }
  return { items, metadata };
}

/** All objects at this revision that the selection may match. */
export function candidatesNow(
  { store }: Pick<Machine, 'store'>,
  { kind }: Pick<ResourceRequest, 'kind'>,
  selection: CompiledSelection,
): Version[] {
  return [...sourceNow(store, storageTypeOf(kind), selection, selection.prefix)];
}

function sourceNow(
  store: Machine['store'],
  type: string,
  selection: CompiledSelection,
  from: string,
): Iterable<Version> {
  if (selection.onlyKey === undefined) return store.range(type, selection.prefix, from);
  const only = selection.onlyKey >= from ? store.get(type, selection.onlyKey) : undefined;
  return only === undefined ? [] : [only];
}

const MATCH = 'resourceVersionMatch';

/** The revision to show and the key to continue after. */
function positionOf(
  store: Machine['store'],
  parameters: ListParameters,
): { revision: number; startAfter: string } {
  const { resourceVersionMatch: match } = parameters;
  if (parameters.sendInitialEvents !== undefined) {
    throw invalidOptions(
      'ListOptions',
      forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'),
    );
  }
  const asked = parseResourceVersion(parameters.resourceVersion);
  if (match !== undefined && match !== 'Exact' && match !== 'NotOlderThan') {
    throw invalidOptions('ListOptions', notSupported(MATCH, match, ['Exact', 'NotOlderThan', '']));
  }
  if (parameters.continue) {
    if (match !== undefined) {
      throw invalidOptions(
        'ListOptions',
        forbidden(MATCH, `${MATCH} is forbidden when continue is provided`),
      );
    }
    if (asked !== undefined && asked !== 0) {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const token = decodeContinueToken(parameters.continue);
    if (token.revision === -1) return { revision: store.revision, startAfter: token.startAfter };
    if (token.revision < store.history.compactedRevision || token.revision > store.revision) {
      throw new ExpiredContinueError(encodeContinueToken({ revision: -1, startAfter: token.startAfter }));
    }
    return token;
  }
  if (asked === undefined) {
    if (match !== undefined) {
      throw invalidOptions(
        'ListOptions',
        forbidden(MATCH, `${MATCH} is forbidden unless resourceVersion is provided`),
      );
    }
    return { revision: store.revision, startAfter: '' };
  }
  if (asked > store.revision) throw tooLargeResourceVersion(asked, store.revision);
  if (match === 'Exact' || (match === undefined && asked !== 0 && parameters.limit)) {
    if (asked === 0) {
      throw invalidOptions(
        'ListOptions',
        forbidden(MATCH, `${MATCH} "Exact" is forbidden for resourceVersion "0"`),
      );
    }
    if (asked < store.history.compactedRevision) {
      throw expired(
        `The provided resource version is too old: ${asked} (${store.history.compactedRevision})`,
      );
    }
    return { revision: asked, startAfter: '' };
  }
  return { revision: store.revision, startAfter: '' };
}

export function parseResourceVersion(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^[0-9]{1,15}$/.test(text)) {
    throw badRequest(`resourceVersion: Invalid value: "${text}": must be a non-negative integer`);
  }
  return Number(text);
}
