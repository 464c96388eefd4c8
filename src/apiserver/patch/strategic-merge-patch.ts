// Strategic merge patches: merge patches that know which lists are keyed. Directives: `$patch` (replace, delete,
// merge), `$retainKeys`, `$deleteFromPrimitiveList/…`, `$setElementOrder/…`. Pure: arguments are not changed; what the
// patch does not touch is shared with the document.

import { getOwn, setOwn } from '../../api/own-property.ts';
import { sameJson } from '../../api/same-json.ts';
import type { Schema } from '../schema.ts';
import { copyJson, isJsonObject, type Json, type JsonObject, PatchError } from './json.ts';

const ORDER = '$setElementOrder/';
const DELETE_PRIMITIVES = '$deleteFromPrimitiveList/';

export function applyStrategicMergePatch(document: Json | undefined, patch: Json, schema: Schema): Json {
  if (!isJsonObject(patch)) throw new PatchError('a strategic merge patch must be an object');
  return mergeObject(isJsonObject(document) ? document : {}, patch, schema) ?? {};
}

/** Undefined when the patch deletes the object. */
function mergeObject(
  original: JsonObject,
  patch: JsonObject,
  schema: Schema | undefined,
): JsonObject | undefined {
  const { $patch: directive, $retainKeys: retained, ...changes } = patch;
  if (directive === 'delete') return undefined;
  if (directive === 'replace') return withoutDirectives(changes);
  if (directive !== undefined && directive !== 'merge')
    throw new PatchError(`Unknown patch type: ${String(directive)}`);
  const result: JsonObject = { ...original };
  for (const [key, value] of Object.entries(changes)) {
    if (key.startsWith(ORDER) || key.startsWith(DELETE_PRIMITIVES)) continue;
    const merged = mergeField(getOwn(result, key), value, { key, patch, schema: propertyOf(schema, key) });
    if (merged === undefined) delete result[key];
    else setOwn(result, key, merged);
  }
  applyListDirectives(result, patch, schema);
  if (Array.isArray(retained)) {
    for (const key of Object.keys(result)) if (!retained.includes(key)) delete result[key];
  }
  return result;
}

interface FieldPatch {
  key: string;
  patch: JsonObject;
  schema: Schema | undefined;
}

function mergeField(
  before: Json | undefined,
  value: Json,
  { key, patch, schema }: FieldPatch,
): Json | undefined {
  if (value === null) return undefined;
  if (isJsonObject(value)) {
    const keepsWhole =
      schema?.['x-kubernetes-map-type'] === 'atomic' && value.$patch === undefined && !isJsonObject(before);
    if (keepsWhole) return copyJson(value);
    return mergeObject(isJsonObject(before) ? before : {}, value, schema);
  }
  if (!Array.isArray(value)) return value;
  if (!schema?.['x-kubernetes-patch-strategy']?.includes('merge')) return copyJson(value);
  const list = Array.isArray(before) ? before : [];
  const mergeKey = schema['x-kubernetes-patch-merge-key'];
  const merged = mergeKey
    ? mergeKeyedList(list, value, mergeKey, schema.items)
    : [...list, ...value.filter((each) => !list.some((old) => sameJson(old, each)))];
  const order = patch[`${ORDER}${key}`];
  return Array.isArray(order) ? ordered(merged, order, list, mergeKey) : merged;
}

/** Directives may stand alone, without the list they speak of. */
function applyListDirectives(result: JsonObject, patch: JsonObject, schema: Schema | undefined): void {
  for (const [directive, value] of Object.entries(patch)) {
    if (!Array.isArray(value)) continue;
    if (directive.startsWith(DELETE_PRIMITIVES)) {
      const key = directive.slice(DELETE_PRIMITIVES.length);
      const list = getOwn(result, key);
      if (Array.isArray(list))
        setOwn(
          result,
          key,
          list.filter((each) => !value.some((gone) => sameJson(gone, each))),
        );
    } else if (directive.startsWith(ORDER)) {
      const key = directive.slice(ORDER.length);
      const list = getOwn(result, key);
      const mergeKey = propertyOf(schema, key)?.['x-kubernetes-patch-merge-key'];
      if (Array.isArray(list) && !Object.hasOwn(patch, key))
        setOwn(result, key, ordered(list, value, list, mergeKey));
    }
  }
}

function propertyOf(schema: Schema | undefined, key: string): Schema | undefined {
  const { properties, additionalProperties } = schema ?? {};
  if (properties && Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

function mergeKeyedList(list: Json[], patch: Json[], mergeKey: string, items: Schema | undefined): Json[] {
  const elements = patch.map((element) => {
    if (isJsonObject(element)) return element;
    throw new PatchError(`a list that merges by "${mergeKey}" has elements that are not objects`);
  });
  const replaces = elements.some((element) => element.$patch === 'replace');
  let result: Json[] = replaces ? [] : [...list];
  for (const element of elements) {
    const { $patch: directive } = element;
    if (directive === 'replace' && Object.keys(element).length === 1) continue;
    if (!Object.hasOwn(element, mergeKey)) {
      throw new PatchError(
        `map: ${JSON.stringify(element)} does not contain declared merge key: ${mergeKey}`,
        'Invalid',
      );
    }
    const same = (each: Json): boolean =>
      isJsonObject(each) && sameJson(getOwn(each, mergeKey), element[mergeKey]);
    if (directive === 'delete') {
      result = result.filter((each) => !same(each));
      continue;
    }
    const at = result.findIndex(same);
    const before = result[at];
    const merged = mergeObject(isJsonObject(before) ? before : {}, element, items) ?? {};
    if (at < 0) result.push(merged);
    else result[at] = merged;
  }
  return result;
}

/** Elements the order names come in that order; the others keep their place among them as on the server. */
function ordered(list: Json[], order: Json[], server: Json[], mergeKey: string | undefined): Json[] {
  const identity = (element: Json | undefined): Json | undefined =>
    mergeKey && isJsonObject(element) ? getOwn(element, mergeKey) : element;
  const position = (within: Json[], element: Json | undefined): number =>
    within.findIndex((each) => sameJson(identity(each), identity(element)));
  const named = list
    .filter((each) => position(order, each) >= 0)
    .sort((a, b) => position(order, a) - position(order, b));
  const others = list.filter((each) => position(order, each) < 0);
  const result: Json[] = [];
  while (named.length > 0 || others.length > 0) {
    const [left, right] = [position(server, others[0]), position(server, named[0])];
    const takesOther = named.length === 0 || (others.length > 0 && left >= 0 && right >= 0 && left < right);
    const next = takesOther ? others.shift() : named.shift();
    if (next !== undefined) result.push(next);
  }
  return result;
}

function withoutDirectives(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith('$')));
}
