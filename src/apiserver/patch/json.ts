// JSON values as patches see them, and the one error that patches throw.

import { KubeError, type KubeErrorReason } from '../../runtime/kube-error.ts';

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

const CODES: Partial<Record<KubeErrorReason, number>> = {
  BadRequest: 400,
  Invalid: 422,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
};

/** A patch that cannot be applied, with the status that a Kubernetes API server gives for it. */
export class PatchError extends KubeError {
  constructor(message: string, reason: KubeErrorReason = 'BadRequest') {
    super({ reason, code: CODES[reason] ?? 400, message });
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}

export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((each, at) => deepEqual(each, b[at]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && deepEqual(a[key], b[key]))
  );
}

/** The keys of a JSON pointer (RFC 6901). */
export function decodePointer(path: string): string[] {
  if (path === '') return [];
  if (!path.startsWith('/')) throw new PatchError(`invalid JSON pointer "${path}": it must start with "/"`);
  return path
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}
