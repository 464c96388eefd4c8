// Strategic merge patches: merge patches that know which lists are keyed. Directives: `$patch` (replace, delete,
// merge), `$retainKeys`, `$deleteFromPrimitiveList/…`, `$setElementOrder/…`. Pure: arguments are not changed; what the
// patch does not touch is shared with the document.

import { asText } from '../../api/as-text.ts';
import { deleteOwn, getOwn, setOwn } from '../../api/own-property.ts';
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
  if (directive !== undefined && directive !== 'merge') {
    const reason = typeof directive === 'string' ? 'Unknown' : 'BadRequest';
    throw new PatchError(`unknown patch type: ${asText(directive)}`, reason);
  }
  const result: JsonObject = { ...original };
  for (const [key, value] of Object.entries(changes)) {
    if (key.startsWith(ORDER) || key.startsWith(DELETE_PRIMITIVES)) continue;
    const merged = mergeField(getOwn(result, key), value, { key, patch, schema: propertyOf(schema, key) });
    if (merged === undefined) deleteOwn(result, key);
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
  // There is nothing to merge with: the elements are taken as they are.
  if (!Array.isArray(before) && !value.some((each) => isJsonObject(each) && each.$patch !== undefined)) {
    return copyJson(value);
  }
  const list = Array.isArray(before) ? before : [];
  const mergeKey = schema['x-kubernetes-patch-merge-key'];
  const merged = mergeKey
    ? mergeKeyedList(list, value, mergeKey, schema.items)
    : [...new Set([...list, ...value])];
  const order = patch[`${ORDER}${key}`];
  // Without a directive, the elements of the patch come in its order.
  return ordered(merged, Array.isArray(order) ? order : value, list, mergeKey);
}

/** Directives may occur without the list they refer to. */
function applyListDirectives(result: JsonObject, patch: JsonObject, schema: Schema | undefined): void {
  for (const [directive, value] of Object.entries(patch)) {
    if (!Array.isArray(value)) continue;
    if (directive.startsWith(DELETE_PRIMITIVES)) {
      const key = directive.slice(DELETE_PRIMITIVES.length);
      const list = getOwn(result, key);
      if (Array.isArray(list)) setOwn(result, key, without(list, value));
    } else if (directive.startsWith(ORDER)) {
      const key = directive.slice(ORDER.length);
      const list = getOwn(result, key);
      const mergeKey = propertyOf(schema, key)?.['x-kubernetes-patch-merge-key'];
      if (Array.isArray(list) && !Object.hasOwn(patch, key))
        setOwn(result, key, ordered(list, value, list, mergeKey));
    }
  }
}

/** The elements of `list` that are not in `gone`. */
function without(list: Json[], gone: Json[]): Json[] {
  const texts = new Set(gone.map((each) => identityText(each, undefined)));
  return list.filter((each) => !texts.has(identityText(each, undefined)));
}

function propertyOf(schema: Schema | undefined, key: string): Schema | undefined {
  const { properties, additionalProperties } = schema ?? {};
  if (properties && Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

/** Elements of a keyed list are looked up by key: a search for each would be quadratic. */
function mergeKeyedList(list: Json[], patch: Json[], mergeKey: string, items: Schema | undefined): Json[] {
  const elements = patch.map((element) => {
    if (isJsonObject(element)) return element;
    throw new PatchError(`a list that merges by "${mergeKey}" has elements that are not objects`, 'Unknown');
  });
  const replaces = elements.some((element) => element.$patch === 'replace');
  const result: (Json | undefined)[] = replaces ? [] : [...list];
  const places = new Map<string, number[]>();
  const placesOf = (element: Json): number[] => {
    const text = identityText(element, mergeKey);
    const known = places.get(text) ?? [];
    places.set(text, known);
    return known;
  };
  for (const [at, each] of result.entries()) if (isJsonObject(each)) placesOf(each).push(at);
  for (const element of elements) {
    const { $patch: directive } = element;
    if (directive === 'replace' && Object.keys(element).length === 1) continue;
    if (!Object.hasOwn(element, mergeKey)) {
      throw new PatchError(
        `map: ${JSON.stringify(element)} does not contain declared merge key: ${mergeKey}`,
        'Unknown',
      );
    }
    const same = placesOf(element);
    if (directive === 'delete') {
      for (const at of same.splice(0)) result[at] = undefined;
      continue;
    }
    const at = same[0] ?? result.length;
    if (same.length === 0) same.push(at);
    const before = result[at];
    result[at] = mergeObject(isJsonObject(before) ? before : {}, element, items) ?? {};
  }
  return result.filter((each) => each !== undefined);
}

/** The identity of an element: its merge key, or the whole element. */
function identityText(element: Json | undefined, mergeKey: string | undefined): string {
  const identity = mergeKey && isJsonObject(element) ? getOwn(element, mergeKey) : element;
  return JSON.stringify(identity) ?? '';
}

/** Elements named in the order come in that order; the others keep their server-side position among them. */
function ordered(list: Json[], order: Json[], server: Json[], mergeKey: string | undefined): Json[] {
  const positions = (within: Json[]): ((element: Json | undefined) => number) => {
    const first = new Map(within.map((each, at) => [identityText(each, mergeKey), at] as const).reverse());
    return (element) => first.get(identityText(element, mergeKey)) ?? -1;
  };
  const [inOrder, onServer] = [positions(order), positions(server)];
  const named = list.filter((each) => inOrder(each) >= 0).sort((a, b) => inOrder(a) - inOrder(b));
  const others = list.filter((each) => inOrder(each) < 0);
  const result: Json[] = [];
  let [nextNamed, nextOther] = [0, 0];
  while (nextNamed < named.length || nextOther < others.length) {
    const [left, right] = [onServer(others[nextOther]), onServer(named[nextNamed])];
    const takesOther =
      nextNamed === named.length || (nextOther < others.length && left >= 0 && right >= 0 && left < right);
    result.push((takesOther ? others[nextOther++] : named[nextNamed++]) as Json);
  }
  return result;
}

function withoutDirectives(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith('$')));
}
