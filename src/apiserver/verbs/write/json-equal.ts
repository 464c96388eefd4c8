// Whether two JSON values are the same. A key whose value is undefined counts as absent, as it does on the wire.

import { getOwn } from '../../../api/own-property.ts';

export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((each, index) => jsonEqual(each, b[index]));
  }
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  for (const key in left) if (!jsonEqual(left[key], getOwn(right, key))) return false;
  for (const key in right) if (right[key] !== undefined && getOwn(left, key) === undefined) return false;
  return true;
}
