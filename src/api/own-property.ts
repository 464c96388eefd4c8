// Access to fields whose names come from outside (labels, annotations, JSON pointers, selectors). `object[name]` also
// finds what every object inherits, such as `constructor`; an assignment to `__proto__` replaces the prototype
// instead of adding a field. These two functions do neither.

export function getOwn<T>(
  object: Readonly<Record<string, T>> | null | undefined,
  name: string,
): T | undefined {
  return object !== undefined && object !== null && Object.hasOwn(object, name) ? object[name] : undefined;
}

export function setOwn<T>(object: Record<string, T>, name: string, value: NoInfer<T>): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
  } else {
    object[name] = value;
  }
}

/** Only what is there: deleting a field makes an object slower, also when it was absent. */
export function deleteOwn(object: object, name: string): void {
  if (Object.hasOwn(object, name)) delete (object as Record<string, unknown>)[name];
}
