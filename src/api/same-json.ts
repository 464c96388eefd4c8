// Whether two parts of objects say the same. Versions of one object share what has not changed between them, where they
// come from the same process, and are then the same without a look inside.

export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((each, i) => sameJson(each, right[i]))
    );
  }
  const keys = Object.keys(left);
  if (Array.isArray(right) || keys.length !== Object.keys(right).length) return false;
  for (const key of keys) {
    if (!Object.hasOwn(right, key) || !sameJson(left[key as never], right[key as never])) return false;
  }
  return true;
}
