// Test support: the part of the Reflect metadata proposal that `@peculiar/x509` needs before it is imported.

const metadata = new WeakMap<object, Map<unknown, unknown>>();

const own = (key: unknown, target: object): unknown => metadata.get(target)?.get(key);

const inherited = (key: unknown, target: object): unknown => {
  for (let at: object | null = target; at !== null; at = Object.getPrototypeOf(at)) {
    const value = own(key, at);
    if (value !== undefined) return value;
  }
  return undefined;
};

const define = (key: unknown, value: unknown, target: object): void => {
  const known = metadata.get(target) ?? new Map<unknown, unknown>();
  known.set(key, value);
  metadata.set(target, known);
};

if (!('getMetadata' in Reflect)) {
  Object.assign(Reflect, {
    getMetadata: inherited,
    getOwnMetadata: own,
    hasMetadata: (key: unknown, target: object) => inherited(key, target) !== undefined,
    hasOwnMetadata: (key: unknown, target: object) => own(key, target) !== undefined,
    defineMetadata: define,
    metadata: (key: unknown, value: unknown) => (target: object) => define(key, value, target),
  });
}
