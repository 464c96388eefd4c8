// RFC 6902 JSON Patch, with the messages of the library that Kubernetes uses. Pure: the document is not changed, and
// what the patch leaves alone is shared with it.

import { copyJson, decodePointer, deepEqual, isObject, type Json, PatchError } from './json.ts';

interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: Json;
}

/** More than this in one patch is refused, as Kubernetes does. */
const MAX_OPERATIONS = 10_000;

export function applyJsonPatch(document: Json, patch: unknown): Json {
  if (!Array.isArray(patch)) throw new PatchError('a JSON patch must be an array of operations');
  if (patch.length > MAX_OPERATIONS) {
    throw new PatchError(
      `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`,
      'RequestEntityTooLarge',
    );
  }
  const own: Own = new Set();
  return patch.reduce<Json>((result, operation) => applyOperation(result, checked(operation), own), document);
}

/** Objects and lists that belong to the result alone. */
type Own = Set<Json>;

function checked(operation: unknown): Operation {
  if (!isObject(operation) || typeof operation.op !== 'string' || typeof operation.path !== 'string') {
    throw new PatchError('each operation of a JSON patch needs "op" and "path"');
  }
  const { op, path, from, value } = operation;
  if ((op === 'move' || op === 'copy') && typeof from !== 'string') {
    throw new PatchError(`a JSON patch operation "${op}" needs "from"`);
  }
  if ((op === 'add' || op === 'replace' || op === 'test') && !('value' in operation) && op !== 'test') {
    throw new PatchError(`a JSON patch operation "${op}" needs "value"`);
  }
  return { op, path, ...(typeof from === 'string' ? { from } : {}), value: (value ?? null) as Json };
}

function applyOperation(document: Json, { op, path, from = '', value = null }: Operation, own: Own): Json {
  switch (op) {
    case 'add':
      return add(document, path, copyJson(value), own);
    case 'remove':
      return remove(document, path, own).document;
    case 'replace':
      return replace(document, path, copyJson(value), own);
    case 'move': {
      if (path.startsWith(`${from}/`))
        throw new PatchError(`move operation: cannot move ${from} into itself`);
      const taken = remove(document, from, own);
      return add(taken.document, path, taken.removed, own);
    }
    case 'copy':
      return add(document, path, copyJson(read(document, from, 'copy')), own);
    case 'test':
      if (!deepEqual(readOrNull(document, path), value)) {
        throw new PatchError(`testing value ${path} failed`, 'Invalid');
      }
      return document;
    default:
      throw new PatchError(`Unexpected kind: ${op}`);
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
      : isObject(at) && Object.hasOwn(at, key)
        ? (at[key] as Json)
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

/** The document with all that lies on the way to the parent of `path` its own, so that the parent may be changed. */
function opened(
  document: Json,
  path: string,
  { op, own }: { op: string; own: Own },
): { document: Json; parent: Json; key: string } {
  const keys = decodePointer(path);
  const key = keys.pop();
  if (key === undefined) throw missing(op, path);
  // Refuses paths that lead nowhere.
  read(document, path.slice(0, path.lastIndexOf('/')), op);
  const root = owned(document, own);
  let parent = root;
  for (const each of keys) {
    const holder = parent as Record<string, Json>;
    holder[each] = owned(holder[each] as Json, own);
    parent = holder[each];
  }
  return { document: root, parent, key };
}

function owned(value: Json, own: Own): Json {
  if (typeof value !== 'object' || value === null || own.has(value)) return value;
  const copy = Array.isArray(value) ? [...value] : { ...value };
  own.add(copy);
  return copy;
}

/** A member that is not there is added: Kubernetes' library takes it so, and the official snapshot controller counts on it. */
function replace(before: Json, path: string, value: Json, own: Own): Json {
  if (path === '') return value;
  const { document, parent, key } = opened(before, path, { op: 'replace', own });
  if (Array.isArray(parent)) parent[index(key, parent.length - 1, path)] = value;
  else if (isObject(parent)) parent[key] = value;
  else throw missing('replace', path);
  return document;
}

function add(before: Json, path: string, value: Json, own: Own): Json {
  if (path === '') return value;
  const { document, parent, key } = opened(before, path, { op: 'add', own });
  if (Array.isArray(parent)) {
    if (key === '-') parent.push(value);
    else parent.splice(index(key, parent.length, path), 0, value);
  } else if (isObject(parent)) {
    parent[key] = value;
  } else {
    throw missing('add', path);
  }
  return document;
}

function remove(before: Json, path: string, own: Own): { document: Json; removed: Json } {
  const { document, parent, key } = opened(before, path, { op: 'remove', own });
  if (Array.isArray(parent)) {
    const [removed = null] = parent.splice(index(key, parent.length - 1, path), 1);
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
