// What CEL's operators and functions do with values. Every misuse is a CelError.

export class CelError extends Error {
  override readonly name = 'CelError';
}

export function arithmetic(operator: string, left: unknown, right: unknown): unknown {
  if (operator.startsWith('<') || operator.startsWith('>')) {
    if (typeof left !== typeof right || (typeof left !== 'number' && typeof left !== 'string')) {
      throw new CelError(`no such overload: ${typeof left} ${operator} ${typeof right}`);
    }
    const [a, b] = [left as number, right as number];
    return operator === '<' ? a < b : operator === '<=' ? a <= b : operator === '>' ? a > b : a >= b;
  }
  const [a, b] = [number(left), number(right)];
  if (operator === '-') return a - b;
  if (operator === '*') return a * b;
  if (b === 0) throw new CelError('division by zero');
  return operator === '/' ? Math.trunc(a / b) : a % b;
}

export function sum(left: unknown, right: unknown): unknown {
  if (typeof left === 'string' && typeof right === 'string') return left + right;
  if (Array.isArray(left) && Array.isArray(right)) return [...left, ...right];
  return number(left) + number(right);
}

export function truth(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new CelError(`expected a truth value, found ${typeof value}`);
  return value;
}

export function number(value: unknown): number {
  if (typeof value !== 'number') throw new CelError(`expected a number, found ${typeof value}`);
  return value;
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new CelError(`expected text, found ${typeof value}`);
  return value;
}

export function sameValue(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((each, at) => sameValue(each, b[at]));
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return (
    keys.length === others.length &&
    keys.every((key) => Object.hasOwn(right, key) && sameValue(left[key], right[key]))
  );
}

export function field(target: unknown, name: string): unknown {
  if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name))
    throw new CelError(`no such key: ${name}`);
  return (target as Record<string, unknown>)[name];
}

export function element(target: unknown, index: unknown): unknown {
  if (!Array.isArray(target)) return field(target, String(index));
  if (!Number.isInteger(index) || (index as number) < 0 || (index as number) >= target.length) {
    throw new CelError(`index out of bounds: ${String(index)}`);
  }
  return target[index as number];
}

export function contains(container: unknown, value: unknown): boolean {
  if (Array.isArray(container)) return container.some((each) => sameValue(each, value));
  return typeof container === 'object' && container !== null && Object.hasOwn(container, String(value));
}

/** Lists by element, maps by key. */
export function iterated(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value === 'object' && value !== null) return Object.keys(value);
  throw new CelError(`cannot iterate over ${typeof value}`);
}

function size(value: unknown): number {
  if (typeof value === 'string') return [...value].length;
  return iterated(value).length;
}

export const CONVERSIONS: Readonly<Record<string, (value: unknown) => unknown>> = {
  size,
  string: (value) => String(value),
  int: (value) => Math.trunc(Number(value)),
  double: (value) => Number(value),
};

export const METHODS: Readonly<Record<string, (target: unknown, ...args: unknown[]) => unknown>> = {
  size: (target) => size(target),
  startsWith: (target, prefix) => text(target).startsWith(text(prefix)),
  endsWith: (target, suffix) => text(target).endsWith(text(suffix)),
  contains: (target, part) => text(target).includes(text(part)),
  matches: (target, pattern) => new RegExp(text(pattern), 'u').test(text(target)),
  lowerAscii: (target) => text(target).toLowerCase(),
  upperAscii: (target) => text(target).toUpperCase(),
  trim: (target) => text(target).trim(),
  split: (target, separator) => text(target).split(text(separator)),
};
