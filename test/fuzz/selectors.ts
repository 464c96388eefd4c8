import assert from 'node:assert/strict';
import {
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from '../../src/api/selectors.ts';
import type { Draw, FuzzTarget } from './target.ts';

export const selectors: FuzzTarget = {
  summary: 'selectors match what their requirements say, and any other text is refused with a SelectorError',
  seedsInTests: 3_000,
  try(draw) {
    const requirements = draw.list(5, () => requirement(draw));
    const text = requirements.map((each) => each.text).join(draw.of([',', ' , ', ',']));
    const labels = Object.fromEntries(draw.list(5, () => [draw.of(KEYS), draw.of(VALUES)]));
    const byName = new Map(Object.entries(labels));
    const expected = requirements.every(({ key, holds }) => holds(byName.get(key)));
    assert.equal(matchesLabels(parseLabelSelector(text), labels), expected, text);

    const fields = draw.list(4, () => ({
      field: draw.of(KEYS),
      equals: draw.chance(0.5),
      value: draw.text(6),
    }));
    const written = fields.map(
      ({ field, equals, value }) => `${field}${equals ? '=' : '!='}${escaped(value)}`,
    );
    assert.deepEqual(parseFieldSelector(written.join(',')), fields, written.join(','));
    matchesFields(fields, (field) => byName.get(field));

    for (const parse of [parseLabelSelector, parseFieldSelector]) {
      const odd = draw.chance(0.5) ? draw.mutated(Buffer.from(text)).toString() : tokens(draw);
      try {
        parse(odd);
      } catch (error) {
        assert.ok(error instanceof SelectorError, `${odd}: ${error}`);
      }
    }
  },
};

const KEYS = ['toString', 'constructor', 'valueOf', 'a', 'b.c/d', 'e-f'];
const VALUES = ['', 'x', 'y', '5', '10'];

interface Written {
  readonly text: string;
  readonly key: string;
  holds(value: string | undefined): boolean;
}

function requirement(draw: Draw): Written {
  const key = draw.of(KEYS);
  const value = draw.of(VALUES);
  const values = [value, ...draw.list(3, () => draw.of(VALUES))];
  const space = draw.of(['', ' ']);
  switch (draw.int(7)) {
    case 0:
      return { key, text: key, holds: (actual) => actual !== undefined };
    case 1:
      return { key, text: `!${key}`, holds: (actual) => actual === undefined };
    case 2: {
      const sign = draw.of(['=', '==']);
      return { key, text: `${key}${space}${sign}${space}${value}`, holds: (actual) => actual === value };
    }
    case 3:
      return { key, text: `${key}${space}!=${space}${value}`, holds: (actual) => actual !== value };
    case 4:
      return {
        key,
        text: `${key} in (${values.join(',')})`,
        holds: (actual) => actual !== undefined && values.includes(actual),
      };
    case 5:
      return {
        key,
        text: `${key} notin (${values.join(',')})`,
        holds: (actual) => actual === undefined || !values.includes(actual),
      };
    default: {
      const bound = draw.int(12);
      const isGreater = draw.chance(0.5);
      return {
        key,
        text: `${key}${isGreater ? '>' : '<'}${bound}`,
        holds: (actual) =>
          actual !== undefined &&
          /^-?\d+$/.test(actual) &&
          (isGreater ? Number(actual) > bound : Number(actual) < bound),
      };
    }
  }
}

function escaped(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&');
}

const TOKENS = [
  'a',
  'in',
  'notin',
  '(',
  ')',
  ',',
  '=',
  '==',
  '!=',
  '!',
  '<',
  '>',
  ' ',
  '\\',
  '5',
  '__proto__',
];

function tokens(draw: Draw): string {
  return draw.list(12, () => draw.of(TOKENS)).join('');
}
