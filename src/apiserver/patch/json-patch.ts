// RFC 6902 JSON Patch, with the messages of the library that Kubernetes uses. Pure: the document is not mutated, and
// unchanged parts are shared with the result. The cost of one patch is bounded: operations, copied bytes, moved list
// elements and the depth of the result.

import { getOwn, setOwn } from '../../api/own-property.ts';
import { sameJson } from '../../api/same-json.ts';
import {
  copyJson,
  decodePointer,
  isJsonObject,
  isObject,
  type Json,
  type JsonObject,
  PatchError,
  refuseDeep,
} from './json.ts';

interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: Json;
}

/** kube-apiserver's limit. */
const MAX_OPERATIONS = 10_000;
/** Total size that the `copy` operations of one patch add, as JSON. kube-apiserver's limit. */
const MAX_COPIED_BYTES = 3 * 1024 * 1024;
/** Inserting into a list, or removing from it, moves the elements behind. This many take about 30 ms. */
const MAX_MOVED_ELEMENTS = 50_000_000;

export function applyJsonPatch(document: Json, patch: unknown): Json {
  if (!Array.isArray(patch)) throw new PatchError('a JSON patch must be an array of operations');
  if (patch.length > MAX_OPERATIONS) {
    throw new PatchError(
      `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`,
      'RequestEntityTooLarge',
    );
  }
  const work: Work = { own: new Set(), copiedBytes: 0, movedElements: 0 };
  const result = patch.reduce<Json>(
    (before, operation) => applyOperation(before, checked(operation), work),
    document,
  );
  refuseDeep(result);
  return result;
}

interface Work {
  /** Objects and lists that only the result refers to. */
  readonly own: Set<Json>;
  copiedBytes: number;
  movedElements: number;
}

/** A private copy. Its cost is checked before it is made. */
function copied(value: Json, work: Work): Json {
  refuseDeep(value);
  const text = JSON.stringify(value);
  work.copiedBytes += Buffer.byteLength(text);
  if (work.copiedBytes > MAX_COPIED_BYTES) {
    throw new PatchError(
      `Unable to complete the copy, the accumulated size increase of copy is ${work.copiedBytes}, exceeding the limit ${MAX_COPIED_BYTES}`,
      'Invalid',
    );
  }
  return JSON.parse(text) as Json;
}

function splice(list: Json[], at: number, gone: 0 | 1, work: Work, ...added: Json[]): Json[] {
  work.movedElements += list.length - at;
  if (work.movedElements > MAX_MOVED_ELEMENTS) {
    throw new PatchError(
      `The allowed maximum of list elements moved by a JSON patch is ${MAX_MOVED_ELEMENTS}`,
      'RequestEntityTooLarge',
    );
  }
  return list.splice(at, gone, ...added);
}

function checked(operation: unknown): Operation {
  if (!isObject(operation) || typeof operation.op !== 'string' || typeof operation.path !== 'string') {
    throw new PatchError('each operation of a JSON patch needs "op" and "path"', 'Invalid');
  }
  const { op, path, from, value } = operation;
  if ((op === 'move' || op === 'copy') && typeof from !== 'string') {
    throw new PatchError(`a JSON patch operation "${op}" needs "from"`, 'Invalid');
  }
  return { op, path, ...(typeof from === 'string' ? { from } : {}), value: (value ?? null) as Json };
}

function applyOperation(document: Json, { op, path, from = '', value = null }: Operation, work: Work): Json {
  switch (op) {
    case 'add':
      return add(document, path, copyJson(value), work);
    case 'remove':
      return remove(document, path, work).document;
    case 'replace':
      return replace(document, path, copyJson(value), work);
    case 'move': {
      if (path.startsWith(`${from}/`))
        throw new PatchError(`move operation: cannot move ${from} into itself`);
      const taken = remove(document, from, work);
      return add(taken.document, path, taken.removed, work);
    }
    case 'copy':
      return add(document, path, copied(read(document, from, 'copy'), work), work);
    case 'test':
      if (!sameJson(readOrNull(document, path), value)) {
        throw new PatchError(`testing value ${path} failed`, 'Invalid');
      }
      return document;
    default:
      throw new PatchError(`Unexpected kind: ${op}`, 'Invalid');
  }
}

function readOrNull(document: Json, path: string): Json {
  try {
    return read(document, path, 'test');
  } catch {
    return null;
  }
}

function missing(op: string, path: string): PatchError {
  return new PatchError(
    `${op} operation does not apply: doc is missing path: ${path}: missing value`,
    'Invalid',
  );
}

function read(document: Json, path: string, op: string): Json {
  let at: Json = document;
  for (const key of decodePointer(path)) {
    const next: Json | undefined = Array.isArray(at)
      ? at[index(key, at.length - 1, path)]
      : isJsonObject(at)
        ? getOwn(at, key)
        : undefined;
    if (next === undefined) throw missing(op, path);
    at = next;
  }
  return at;
}

function index(key: string, last: number, path: string): number {
  if (!/^(0|[1-9][0-9]*)$/.test(key) || Number(key) > last) {
    throw new PatchError(`Unable to access invalid index: ${key} in ${path}`, 'Invalid');
  }
  return Number(key);
}

/** Copies everything on the way to the parent of `path`, so that the parent may be mutated. */
function opened(
  document: Json,
  path: string,
  { op, work }: { op: string; work: Work },
): { document: Json; parent: Json; key: string } {
  const keys = decodePointer(path);
  const key = keys.pop();
  if (key === undefined) throw missing(op, path);
  // Rejects paths that do not exist.
  read(document, path.slice(0, path.lastIndexOf('/')), op);
  const root = owned(document, work);
  let parent = root;
  for (const each of keys) {
    const holder = parent as JsonObject;
    const own = owned(getOwn(holder, each) as Json, work);
    setOwn(holder, each, own);
    parent = own;
  }
  return { document: root, parent, key };
}

function owned(value: Json, work: Work): Json {
  if (typeof value !== 'object' || value === null || work.own.has(value)) return value;
  const copy = Array.isArray(value) ? [...value] : { ...value };
  work.own.add(copy);
  return copy;
}

/** A missing member is added: Kubernetes' library does so, and the official snapshot controller relies on it. */
function replace(before: Json, path: string, value: Json, work: Work): Json {
  if (path === '') return value;
  const { document, parent, key } = opened(before, path, { op: 'replace', work });
  if (Array.isArray(parent)) parent[index(key, parent.length - 1, path)] = value;
  else if (isJsonObject(parent)) setOwn(parent, key, value);
  else throw missing('replace', path);
  return document;
}

function add(before: Json, path: string, value: Json, work: Work): Json {
  if (path === '') return value;
  const { document, parent, key } = opened(before, path, { op: 'add', work });
  if (Array.isArray(parent)) {
    if (key === '-') parent.push(value);
    else splice(parent, index(key, parent.length, path), 0, work, value);
  } else if (isJsonObject(parent)) {
    setOwn(parent, key, value);
  } else {
    throw missing('add', path);
  }
  return document;
}

function remove(before: Json, path: string, work: Work): { document: Json; removed: Json } {
  const { document, parent, key } = opened(before, path, { op: 'remove', work });
  if (Array.isArray(parent)) {
    const [removed = null] = splice(parent, index(key, parent.length - 1, path), 1, work);
    return { document, removed };
  }
  if (!isObject(parent) || !Object.hasOwn(parent, key)) {
    throw new PatchError(
      `remove operation does not apply: doc is missing key: ${path}: missing value`,
      'Invalid',
    );
  }
  const removed = parent[key] as Json;
  delete parent[key];
  return { document, removed };
}
