// The JSONPath of printer columns: `.spec.a`, `['b.c']`, `[0]`, `[-1]`, `[*]`, `[?(@.type=="Ready")].status`. Compiled
// once, then evaluated on many objects.

import { asText } from '../../api/as-text.ts';

type Step = (values: unknown[]) => unknown[];

export type CompiledPath = (object: unknown) => unknown[];

export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

/** Cached: a path is evaluated for every printed object. */
const MAX_LENGTH = 1024;

const FIELD = /^\.?([^.[\]\s]+)/;
const QUOTED = /^\[\s*(['"])((?:\\.|(?!\1).)*)\1\s*\]/;
const INDEX = /^\[\s*(-?\d+|\*)\s*\]/;
const FILTER = /^\[\?\(\s*@\.([^\s=!]+)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)'|([^\s)]+))\s*\)\]/;

export function compileJsonPath(path: string): CompiledPath {
  if (path.length > MAX_LENGTH) throw new JsonPathError(`a path may have ${MAX_LENGTH} characters`);
  const steps: Step[] = [];
  let rest = path.trim().replace(/^\{(.*)\}$/, '$1');
  if (!rest.startsWith('.') && !rest.startsWith('['))
    throw new JsonPathError(`"${path}" must start with "." or "["`);
  while (rest !== '' && rest !== '.') {
    const { step, length } = nextStep(rest, path);
    steps.push(step);
    rest = rest.slice(length);
  }
  return (object) => steps.reduce<unknown[]>((values, step) => step(values), [object]);
}

function nextStep(rest: string, path: string): { step: Step; length: number } {
  const filter = FILTER.exec(rest);
  if (filter) {
    const [text, field = '', operator, double, single, bare] = filter;
    const wanted = double ?? single ?? bare ?? '';
    const read = compileJsonPath(`.${field}`);
    const step: Step = (values) =>
      elements(values).filter(
        (each) => read(each).some((value) => asText(value) === wanted) === (operator === '=='),
      );
    return { step, length: text.length };
  }
  const index = INDEX.exec(rest);
  if (index) {
    const [text, at = ''] = index;
    const step: Step =
      at === '*' ? elements : (values) => values.flatMap((value) => elementAt(value, Number(at)));
    return { step, length: text.length };
  }
  const named = QUOTED.exec(rest) ?? FIELD.exec(rest);
  if (!named) throw new JsonPathError(`"${path}" is not understood from "${rest}"`);
  const key = (named[2] ?? named[1] ?? '').replace(/\\(.)/g, '$1');
  return { step: (values) => values.flatMap((value) => property(value, key)), length: named[0].length };
}

function elements(values: unknown[]): unknown[] {
  return values.flatMap((value) => {
    if (Array.isArray(value)) return value;
    return typeof value === 'object' && value !== null ? Object.values(value) : [];
  });
}

function elementAt(value: unknown, at: number): unknown[] {
  if (!Array.isArray(value)) return [];
  const found = value.at(at);
  return found === undefined ? [] : [found];
}

function property(value: unknown, key: string): unknown[] {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return [];
  return [(value as Record<string, unknown>)[key]];
}
