// Copies of a JSON value in which some strings, numbers and booleans are others. Only what contains one of them is copied, the
// rest is shared. A part with a single one of them, a text, is shared by all copies with the same text.

import { CommonValues } from './common-values.ts';
import type { Path } from './find-leaves.ts';

type Json = Record<string | number, unknown>;

/** The root and what it holds directly belong to the reader. */
const SHARED_DEPTH = 2;

/** How to copy one object or array. */
export interface Copy {
  readonly source: Json;
  readonly names: (string | number)[];
  /** How to copy what has that name, or the number of the value to put there. */
  readonly parts: (Copy | number)[];
  /** The only value to put into this part; -1 when there are several, or when it is no text. */
  only: number;
  readonly common: CommonValues<Json>;
}

export function newCopy(source: unknown): Copy {
  return { source: source as Json, names: [], parts: [], only: -1, common: new CommonValues() };
}

/** Notes that the value with the number `step` goes to the path. The path is not empty. */
export function placeIn(
  root: Copy,
  { path, step, isText }: { path: Path; step: number; isText: boolean },
): void {
  let copy = root;
  for (const [depth, name] of path.entries()) {
    copy.only = isText && copy.names.length === 0 && depth >= SHARED_DEPTH ? step : -1;
    const index = copy.names.indexOf(name);
    if (depth === path.length - 1) {
      copy.names.push(name);
      copy.parts.push(step);
    } else if (index >= 0) {
      copy = copy.parts[index] as Copy;
    } else {
      const inner = newCopy(copy.source[name]);
      copy.names.push(name);
      copy.parts.push(inner);
      copy = inner;
    }
  }
}

export function copyOf(copy: Copy, values: readonly unknown[]): Json {
  if (copy.only < 0) return build(copy, values);
  const text = values[copy.only] as string;
  return copy.common.get(text) ?? copy.common.add(text, build(copy, values));
}

function build({ source, names, parts }: Copy, values: readonly unknown[]): Json {
  // A spread has exactly the size of its source; objects that grow property by property take twice the memory.
  const copy = Array.isArray(source) ? (source.slice() as unknown as Json) : { ...source };
  for (let i = 0; i < names.length; i++) {
    const part = parts[i] as Copy | number;
    copy[names[i] as string] = typeof part === 'number' ? values[part] : copyOf(part, values);
  }
  return copy;
}
