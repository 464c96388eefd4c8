// Converts any value passed to the log into plain data that is safe to write: secret types are redacted, errors keep their
// causes but not the requests that libraries attach to them, cycles and depth are cut.

import { ExpectedError } from '../expected-error.ts';
import { KubeError } from '../kube/kube-error.ts';
import { isSecretValue, REDACTED } from './secret-value.ts';

const DEEPEST = 10;
/** Enough for a whole Kubernetes object; a line is for reading. */
const LONGEST_LIST = 100;

export function loggable(value: unknown): unknown {
  return plain(value, 0, []);
}

function plain(value: unknown, depth: number, above: readonly object[]): unknown {
  switch (typeof value) {
    case 'bigint':
      return value.toString();
    case 'function':
    case 'symbol':
      return String(typeof value);
    case 'object':
      return value === null ? null : readable(value, depth, above);
    default:
      return value;
  }
}

/** Getters and `toJSON` are foreign code; logging must not fail, whatever they do. */
function readable(value: object, depth: number, above: readonly object[]): unknown {
  try {
    return plainObject(value, depth, above);
  } catch {
    return '[unreadable]';
  }
}

function plainObject(value: object, depth: number, above: readonly object[]): unknown {
  if (isSecretValue(value)) return REDACTED;
  if (above.includes(value)) return '[circular]';
  if (depth >= DEEPEST) return '[too deep]';
  const within = [...above, value];
  const inner = (each: unknown) => plain(each, depth + 1, within);
  if (value instanceof Error) return plainError(value, inner);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof URL) return value.href;
  // Bytes may be anything, a secret's included.
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (value instanceof Map) {
    const result: Record<string, unknown> = {};
    for (const [key, each] of value) put(result, String(key), inner(each));
    return result;
  }
  if (value instanceof Set) return listOf([...value], inner);
  if (Array.isArray(value)) return listOf(value, inner);
  const toJSON: unknown = Reflect.get(value, 'toJSON');
  if (typeof toJSON === 'function') return inner(toJSON.call(value));
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) put(result, key, property(value, key, inner));
  return result;
}

/** One getter that throws must not cost the whole line. */
function property(value: object, key: string, inner: (each: unknown) => unknown): unknown {
  try {
    return inner(Reflect.get(value, key));
  } catch {
    return '[unreadable]';
  }
}

function put(result: Record<string, unknown>, key: string, value: unknown): void {
  // Assigning to `__proto__` would set the prototype.
  if (key === '__proto__') {
    Object.defineProperty(result, key, { value, enumerable: true, configurable: true, writable: true });
  } else result[key] = value;
}

function listOf(values: readonly unknown[], inner: (each: unknown) => unknown): unknown[] {
  const shown = values.slice(0, LONGEST_LIST).map(inner);
  return values.length > LONGEST_LIST ? [...shown, `… ${values.length - LONGEST_LIST} more`] : shown;
}

/** An allow-list: HTTP and gRPC errors carry requests, headers and bodies as properties. */
function plainError(error: Error, inner: (each: unknown) => unknown): Record<string, unknown> {
  const { name, message, cause } = error;
  const code: unknown = Reflect.get(error, 'code');
  const result: Record<string, unknown> = { name, message };
  if (typeof code === 'string' || typeof code === 'number') result.code = code;
  if (error instanceof KubeError) result.reason = error.reason;
  if (error instanceof AggregateError) result.errors = listOf(error.errors, inner);
  if (cause !== undefined) result.cause = inner(cause);
  if (!(error instanceof ExpectedError) && error.stack !== undefined) result.stack = error.stack;
  return result;
}
