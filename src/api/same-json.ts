// JSON equality. A key whose value is undefined counts as absent, as it does on the wire. Versions of one object share
// unchanged parts, so most comparisons end at the identity check.

import { getOwn } from './own-property.ts';

export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    return left.every((each, index) => sameJson(each, right[index]));
  }
  const a = left as Record<string, unknown>;
  const b = right as Record<string, unknown>;
  for (const key in a) if (!sameJson(a[key], getOwn(b, key))) return false;
  for (const key in b) if (b[key] !== undefined && getOwn(a, key) === undefined) return false;
  return true;
}
