// CEL's operators on values. Every misuse is a CelError.

import { asText } from '../../../api/as-text.ts';
import { getOwn } from '../../../api/own-property.ts';
import { CelError } from './syntax.ts';

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

export function text(value: unknown): string {
  if (typeof value !== 'string') throw new CelError(`expected text, found ${typeof value}`);
  return value;
}

/** Not `sameJson`, which skips identical parts: the cost limit counts each pair of compared values (`visited`). */
export function sameValue(a: unknown, b: unknown, visited: () => void): boolean {
  visited();
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((each, at) => sameValue(each, b[at], visited));
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return (
    keys.length === others.length &&
    keys.every(
      (key) => Object.hasOwn(right, key) && sameValue(getOwn(left, key), getOwn(right, key), visited),
    )
  );
}

export function field(target: unknown, name: string): unknown {
  if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name))
    throw new CelError(`no such key: ${name}`);
  return (target as Record<string, unknown>)[name];
}

export function element(target: unknown, index: unknown): unknown {
  if (!Array.isArray(target)) return field(target, asText(index));
  if (!Number.isInteger(index) || (index as number) < 0 || (index as number) >= target.length) {
    throw new CelError(`index out of bounds: ${asText(index)}`);
  }
  return target[index as number];
}

export function contains(container: unknown, value: unknown, visited: () => void): boolean {
  if (Array.isArray(container)) return container.some((each) => sameValue(each, value, visited));
  return typeof container === 'object' && container !== null && Object.hasOwn(container, asText(value));
}

/** Lists by element, maps by key. */
export function iterated(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value === 'object' && value !== null) return Object.keys(value);
  throw new CelError(`cannot iterate over ${typeof value}`);
}

export function celSize(value: unknown): number {
  if (typeof value === 'string') return [...value].length;
  return iterated(value).length;
}
