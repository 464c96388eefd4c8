// JSON values for patches, and the error that patches throw.

import { getOwn, setOwn } from '../../api/own-property.ts';
import { KubeError, type KubeErrorReason } from '../../runtime/kube/kube-error.ts';

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

const CODES: Partial<Record<KubeErrorReason, number>> = {
  BadRequest: 400,
  Invalid: 422,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Unknown: 500,
};

/** A patch that cannot be applied, with the status code of a Kubernetes API server. */
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

/**
 * A JSON copy of the value, without undefined fields. Several times faster than via text or structuredClone, and every
 * write makes a few copies.
 */
export function copyJson<T>(value: T): T {
  return copyValue(value, undefined) as T;
}

/** The same, but parts that are identical objects at their place in `known`, which is immutable, are kept. */
export function copyJsonExcept<T>(value: T, known: unknown): T {
  return copyValue(value, known) as T;
}

function copyValue(value: unknown, known: unknown): unknown {
  if (typeof value !== 'object' || value === null || value === known) return value;
  if (Array.isArray(value)) {
    const list = Array.isArray(known) ? known : NONE;
    return value.map((each, index) => (each === undefined ? null : copyValue(each, list[index])));
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') return value.toJSON();
  const copy: Record<string, unknown> = {};
  const fields = isObject(known) ? known : undefined;
  for (const key of Object.keys(value)) {
    const each = (value as Record<string, unknown>)[key];
    if (each === undefined || typeof each === 'function') continue;
    setOwn(copy, key, typeof each === 'object' ? copyValue(each, getOwn(fields, key)) : each);
  }
  return copy;
}

const NONE: readonly unknown[] = [];

/** The keys of a JSON pointer (RFC 6901). A name that bodies may not contain is rejected here as well. */
export function decodePointer(path: string): string[] {
  if (path === '') return [];
  if (!path.startsWith('/')) {
    throw new PatchError(`invalid JSON pointer "${path}": it must start with "/"`, 'Invalid');
  }
  const parts = path.slice(1).split('/');
  const keys = path.includes('~')
    ? parts.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    : parts;
  if (keys.includes('__proto__')) throw new PatchError('unknown field "__proto__"');
  return keys;
}

/** The limit of a body. Everything that walks an object recursively relies on it. */
const MAX_DEPTH = 200;

/** A patch can nest values, so that the result is deeper than any request body. */
export function refuseDeep(value: Json, depth = 0): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth >= MAX_DEPTH) {
    throw new PatchError(`the patched object is nested deeper than ${MAX_DEPTH} levels`, 'Invalid');
  }
  for (const each of Array.isArray(value) ? value : Object.values(value)) refuseDeep(each, depth + 1);
}
