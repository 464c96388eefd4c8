import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readItems } from './read-items.ts';

let pauses = 0;
const options = {
  read: (item: Buffer) => JSON.parse(item.toString('utf8')),
  pause: async () => {
    pauses++;
  },
};

/** The value, or that there is none. */
async function outcome(read: () => unknown): Promise<unknown> {
  try {
    return { value: await read() };
  } catch (error) {
    return error instanceof SyntaxError ? 'no JSON' : error;
  }
}

async function same(text: string): Promise<void> {
  const read = await outcome(() => readItems(Buffer.from(text), options));
  assert.deepEqual(read, await outcome(() => JSON.parse(text)), text);
}

const list = {
  kind: 'PodList',
  metadata: { resourceVersion: '5', items: [1], continue: 'a"]}' },
  more: [1],
  items: [{ a: '},{' }, { b: [{}, []] }, {}],
};

test('a list is what the parser makes of it, whatever its form', async () => {
  const text = JSON.stringify(list);
  for (const row of [
    text,
    JSON.stringify(list, null, 2),
    JSON.stringify({ items: [] }),
    JSON.stringify({ items: null }),
    JSON.stringify({ items: [1, {}] }),
    JSON.stringify({ items: {} }),
    JSON.stringify({ kind: 'Status' }),
    JSON.stringify([list]),
    text.replace('{}]', '{},]'),
    text.replace('{}]', '{}{}]'),
    text.replace('{}]', '{},1]'),
    text.replace('{}]', '{}'),
    text.replace('[{"a"', '[,{"a"'),
    text.replace('"more"', '"items"'),
    text.replace('"more":[1]', '"items":[]'),
    text.replace('{}]}', '{}],"items":[]}'),
    text.replace('{}]}', '{}],"it\\u0065ms":[2]}'),
    text.replace('{}]}', '{}],"more":2}'),
    text.replace('"more":[1]', '"items":null'),
    text.replace('"kind"', '"__proto__"'),
    text.replace('"items":[{', '"it\\u0065ms":[{'),
    `${text} x`,
    `x ${text}`,
    '',
    'null',
    '"items"',
  ]) {
    await same(row);
  }
});

test('a list that breaks off anywhere is no list', async () => {
  const text = JSON.stringify(list);
  for (let length = 0; length < text.length; length++) await same(text.slice(0, length));
});

test('any list', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.object(), fc.jsonValue())),
      fc.dictionary(fc.constantFrom('a', 'items', '__proto__', 'ü'), fc.jsonValue()),
      async (items, rest) => {
        await same(JSON.stringify({ ...rest, items }));
        await same(JSON.stringify({ items, ...rest }));
      },
    ),
  );
});

test('other work has its turn after every thousand items', async () => {
  pauses = 0;
  await same(JSON.stringify({ items: Array.from({ length: 3500 }, (_, i) => ({ i })) }));
  assert.equal(pauses, 3);
});
