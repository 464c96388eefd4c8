// The wire format of messages, on small descriptors of its own. The messages of CSI are held to protobuf-es in
// src/csi/messages/generated-messages.test.ts.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create } from './create.ts';
import { fromBinary } from './decode.ts';
import type { DescMessage, Message, MessageInitShape } from './descriptor.ts';
import { toBinary } from './encode.ts';
import { protoFile } from './proto-file.ts';
import { setFields } from './set-fields.ts';
import { TimestampSchema, timestampFromMs, wellKnown } from './well-known.ts';
import { WireError } from './wire-reader.ts';

describe('a message', () => {
  const file = protoFile('test', wellKnown);
  type Newer = Message<'test.Newer'> & { a: string; b: string; c: bigint };
  const Newer = file.message<Newer>('Newer', '1 a string\n2 b string\n4 c int64');
  const Older = file.message<Message & { a: string }>('Older', '1 a string');
  const Numbers = file.message<Message & { n: bigint[]; e: number[] }>(
    'Numbers',
    '1 n repeated int64\n2 e repeated int32',
  );

  type Outer = Message<'test.Outer'> & {
    inner?: Newer | undefined;
    labels: Record<string, string>;
    count: number;
  };
  const Outer = file.message<Outer>('Outer', '1 inner Newer\n2 labels map\n3 count int32');

  it("is made of its fields alone: its own name is no field that an author's type error could mention", () => {
    type Fields = keyof MessageInitShape<typeof Outer>;
    const isField: Record<Fields, true> = { inner: true, labels: true, count: true };
    assert.equal(create(Outer, { inner: create(Newer, { a: 'x' }) }).inner?.a, 'x');
    assert.equal('$typeName' in isField, false);
  });

  it('skips what a newer interface has', () => {
    const bytes = toBinary(Newer, create(Newer, { a: 'x', b: 'y', c: -1n }));
    assert.deepEqual(fromBinary(Older, bytes), { $typeName: 'test.Older', a: 'x' });
    // A group (field 3), a 64-bit and a 32-bit number, and a known field in another form.
    const odd = Buffer.from('1b08011b1c1c210102030405060708250102030408070a0178', 'hex');
    assert.deepEqual(fromBinary(Older, odd), { $typeName: 'test.Older', a: 'x' });
    assert.throws(() => fromBinary(Older, Buffer.from('1b0801', 'hex')), WireError);
    assert.throws(() => fromBinary(Older, Buffer.from('1c', 'hex')), WireError);
    assert.throws(() => fromBinary(Older, Buffer.alloc(1000, 0x1b)), WireError, 'groups without end');
  });

  it('refuses text that is not UTF-8, and a field that is longer than its message', () => {
    assert.throws(() => fromBinary(Older, Buffer.from('0a01ff', 'hex')), /not valid UTF-8/);
    // Outer.inner has 2 bytes, and its first field claims 5, which the outer message would have.
    assert.throws(() => fromBinary(Outer, Buffer.from('0a020a05787878781800', 'hex')), /cut short/);
  });

  it('reads numbers of a list packed or one by one', () => {
    const expected = { $typeName: 'test.Numbers', n: [1n, -1n], e: [300] };
    assert.deepEqual(fromBinary(Numbers, Buffer.from('0a0b01ffffffffffffffffff0110ac02', 'hex')), expected);
    const bytes = toBinary(Numbers, expected);
    assert.deepEqual(fromBinary(Numbers, bytes), expected);
  });

  it('adds up parts of a message that come one after the other', () => {
    const part = (inner: { a?: string; c?: bigint }) => toBinary(Outer, create(Outer, { inner }));
    const bytes = Buffer.concat([part({ a: 'x' }), part({ c: 2n })]);
    const { inner } = fromBinary(Outer, bytes);
    assert.deepEqual([inner?.a, inner?.c], ['x', 2n]);
  });

  it('keeps every key of a map, also one that objects treat in a way of their own', () => {
    const labels = Object.fromEntries([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    const read = fromBinary(Outer, toBinary(Outer, create(Outer, { labels })));
    assert.deepEqual(Object.entries(read.labels), Object.entries(labels));
    assert.equal(Object.getPrototypeOf(read.labels), Object.prototype);
  });

  it('shares no memory with the bytes it was read from', () => {
    const bytes = toBinary(Older, create(Older, { a: 'before' }));
    const read = fromBinary(Older, bytes);
    bytes.fill(0);
    assert.equal(read.a, 'before');
  });

  const wrong: [name: string, schema: DescMessage, init: object, why: RegExp][] = [
    ['a number for a string', Newer, { a: 5 }, /a of test.Newer cannot be number/],
    ['a number for 64 bits', Newer, { c: 5 }, /c of test.Newer/],
    ['more than 64 bits', Newer, { c: 2n ** 63n }, /c of test.Newer/],
    ['a fraction', Outer, { count: 1.5 }, /count/],
    ['more than 32 bits', Outer, { count: 2 ** 31 }, /count/],
    ['no string in a map', Outer, { labels: { a: 1 } }, /labels/],
  ];
  for (const [name, schema, init, why] of wrong) {
    it(`cannot be sent with ${name}`, () => {
      const message = create(schema, init as Message);
      assert.throws(
        () => toBinary(schema, message),
        (error: Error) => error instanceof WireError && why.test(error.message),
      );
    });
  }

  it('leaves room at the start if told', () => {
    const bytes = toBinary(Older, create(Older, { a: 'x' }), 14);
    assert.deepEqual([bytes.length, bytes.subarray(14).toString('hex')], [17, '0a0178']);
  });

  it('is made of itself, or of its fields', () => {
    const message = create(Older, { a: 'x' });
    assert.equal(create(Older, message), message);
    assert.deepEqual(create(Older), { $typeName: 'test.Older', a: '' });
    assert.deepEqual(setFields(Older, create(Older)), []);
  });

  it('refuses a table with a type that there is not', () => {
    assert.throws(() => file.message('Bad', '1 a Missing').fields, /no field: 1 a Missing/);
  });
});

describe('a point in time', () => {
  it('is seconds and the rest', () => {
    for (const [ms, seconds, nanos] of [
      [0, 0n, 0],
      [1_700_000_000_123, 1_700_000_000n, 123_000_000],
      [-1, -1n, 999_000_000],
    ] as const) {
      assert.deepEqual(timestampFromMs(ms), { $typeName: TimestampSchema.typeName, seconds, nanos });
    }
  });
});
