// RFC 7386 JSON Merge Patch. Pure: neither argument is changed, and the result shares nothing with the patch.

import { deleteOwn, getOwn, setOwn } from '../../api/own-property.ts';
import { copyJson, isJsonObject, type Json, type JsonObject } from './json.ts';

export function applyMergePatch(document: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch) || typeof (patch.toJSON as unknown) === 'function') return copyJson(patch);
  const result: JsonObject = isJsonObject(document) ? { ...document } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    if (value === null) deleteOwn(result, key);
    else setOwn(result, key, applyMergePatch(getOwn(result, key), value));
  }
  return result;
}
