import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SimilarDocuments } from './similar-documents.ts';

const OMIT = ['metadata', 'managedFields'];

/** What the reader is to return: the parser's value, without the omitted array. */
function parse(bytes: Buffer): unknown {
  const value = JSON.parse(bytes.toString('utf8'));
  if (Array.isArray(value?.metadata?.managedFields)) delete value.metadata.managedFields;
  return value;
}

function counting(): { documents: SimilarDocuments; parsed(): number } {
  let parsed = 0;
  const documents = new SimilarDocuments({
    omit: OMIT,
    parse(bytes) {
      parsed++;
      return parse(bytes);
    },
  });
  return { documents, parsed: () => parsed };
}

function volume(i: number, changes: object = {}): object {
  return {
    metadata: {
      name: `volume-${i}`,
      uid: `uid-of-volume-${i}`,
      generation: i,
      annotations: { by: 'driver.test' },
      managedFields: [{ manager: `m${i}`, fields: { 'f:a': { 'k:{"x":"]"}': {} } } }],
    },
    spec: {
      capacity: { storage: '1Gi' },
      modes: ['ReadWriteOnce'],
      node: { terms: [{ values: [`node-${i % 3}`] }] },
      class: `class-of-many-${i % 2}`,
    },
    ...changes,
  };
}

const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

test('documents of a known structure are read without the parser, and equal what it returns', () => {
  const { documents, parsed } = counting();
  for (let i = 0; i < 20; i++) documents.read(bytesOf(volume(i)));
  const before = parsed();
  for (let i = 20; i < 200; i++) {
    assert.deepEqual(documents.read(bytesOf(volume(i))), parse(bytesOf(volume(i))));
  }
  assert.equal(parsed(), before);
});

test('what documents have in common is one object, what belongs to one is not', () => {
  const { documents } = counting();
  for (let i = 0; i < 20; i++) documents.read(bytesOf(volume(i)));
  const [one, two] = [21, 24].map((i) => documents.read(bytesOf(volume(i)))) as [Volume, Volume];
  assert.equal(one.spec.capacity, two.spec.capacity);
  assert.equal(one.spec.node, two.spec.node, 'the same node');
  assert.notEqual(one.spec, two.spec);
  assert.notEqual(one.metadata, two.metadata);
});

type Volume = { metadata: object; spec: { capacity: object; node: object } };

test('documents that differ in any way from what is known are read as the parser reads them', () => {
  const { documents } = counting();
  for (let i = 0; i < 20; i++) documents.read(bytesOf(volume(i)));
  const text = JSON.stringify(volume(30));
  for (const row of [
    text.replace('volume-30', 'a\\"b\\u0041\\\\'),
    text.replace('volume-30', 'größe ☃'),
    text.replace('"generation":30', '"generation":-1.5e3'),
    text.replace('"generation":30', '"generation":null'),
    text.replace('"generation":30', '"generation":[30]'),
    text.replace('"generation":30', '"generation":{"a":"b"}'),
    text.replace('"generation":30', '"generation":"30"'),
    text.replace('"1Gi"', '"2Gi"'),
    text.replace('"capacity"', '"Capacity"'),
    text.replace('"annotations":{', '"annotations":{"more":"x",'),
    text.replace('"by"', '"__proto__"'),
    text.replace('"by":"driver.test"', '"by":"a","by":"b"'),
    text.replace('"managedFields":[', '"managedFields":[{},'),
    JSON.stringify(volume(30, { status: {} })),
    JSON.stringify(volume(30), null, 2),
    `  ${text}\r\n`,
  ]) {
    for (let times = 0; times < 3; times++) {
      assert.deepEqual(documents.read(Buffer.from(row)), parse(Buffer.from(row)), row);
    }
  }
});

test('what is no JSON is left to the parser, wherever it breaks', () => {
  const { documents } = counting();
  for (let i = 0; i < 20; i++) documents.read(bytesOf(volume(i)));
  const whole = bytesOf(volume(30));
  for (let length = 0; length < whole.length; length++) {
    assert.throws(() => documents.read(whole.subarray(0, length)), SyntaxError);
  }
  const text = whole.toString();
  for (const row of [
    text.replace('volume-30', 'a\tb'),
    text.replace('volume-30', 'a"b'),
    text.replace('volume-30', 'a\\'),
    text.replace('"generation":30', '"generation":030'),
    text.replace('"generation":30', '"generation":x'),
    text.replace('"generation":30', '"generation":'),
    `${text}}`,
    `${text}${text}`,
  ]) {
    assert.throws(() => documents.read(Buffer.from(row)), SyntaxError, row);
  }
});

test('a part in which one text differs is not shared with a document whose other values differ', () => {
  const { documents } = counting();
  const row = (a: string, b: number | string) => ({ x: { y: { a, b }, z: [{ a }] } });
  for (const value of [
    row('1', 'p'),
    row('2', 'p'),
    row('2', 'q'),
    row('1', 'q'),
    row('1', 'p'),
    row('2', 'q'),
  ]) {
    assert.deepEqual(documents.read(bytesOf(value)), value);
  }
});

test('documents of ever new structures cost no more than their parser, and known ones are found again', () => {
  const { documents, parsed } = counting();
  const read = (value: object): void => assert.deepEqual(documents.read(bytesOf(value)), value);
  for (let i = 0; i < 3000; i++) read({ [`name-${i}`]: i });
  const learnt = parsed();
  assert.ok(learnt < 3000 + 100, 'only the first were parsed twice, to be learnt');
  for (let i = 0; i < 4000; i++) read({ a: { b: `${i}` } });
  const known = parsed();
  for (let i = 0; i < 1000; i++) read({ a: { b: `${i}` } });
  assert.equal(parsed(), known);
});

test('any sequence of documents', () => {
  const texts = fc.constantFrom('', 'a', 'class', 'a"b', '\\', 'ü', '\n', '"managedFields":[1]', '0');
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      texts,
      fc.constantFrom(0, -0, 1, 1.5, 1e21, true, false, null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', '0', 'metadata', '__proto__', '"', 'ü'), tie('value'), {
        maxKeys: 3,
      }),
    ),
  }));
  const document = fc.record(
    {
      metadata: fc.record(
        { name: texts, managedFields: fc.array(value, { maxLength: 2 }) },
        { requiredKeys: [] },
      ),
      spec: value,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(
      fc.array(fc.oneof(document, value), { minLength: 1, maxLength: 4 }),
      fc.nat(),
      (kinds, seed) => {
        const { documents } = counting();
        for (let i = 0; i < 24; i++) {
          const bytes = bytesOf(kinds[(seed + i * i) % kinds.length]);
          assert.deepEqual(documents.read(bytes), parse(bytes));
        }
      },
    ),
  );
  fc.assert(
    fc.property(fc.array(texts, { minLength: 8, maxLength: 40 }), value, (names, spec) => {
      const { documents } = counting();
      for (const name of names) {
        const bytes = bytesOf({
          metadata: { name, managedFields: [spec], labels: { name } },
          spec,
          of: [[name]],
        });
        assert.deepEqual(documents.read(bytes), parse(bytes));
      }
    }),
  );
});
