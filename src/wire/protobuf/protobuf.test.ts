// Our messages beside those of protobuf-es, which reads the same interface with its own code: every message, with any
// values, has the same bytes in both, and is read back as it was.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as es from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import * as csi from '../../csi/generated/csi/v1/csi_pb.ts';
import * as csiRegistration from '../../csi/generated/csiregistration/csi_registration_pb.ts';
import * as pluginRegistration from '../../csi/generated/pluginregistration/registration_pb.ts';
import { create } from './create.ts';
import { fromBinary } from './decode.ts';
import type { DescField, DescMessage, Message } from './descriptor.ts';
import { toBinary } from './encode.ts';
import { protoFile } from './proto-file.ts';
import { setFields } from './set-fields.ts';
import { TimestampSchema, timestampFromMs, wellKnown } from './well-known.ts';
import { WireError } from './wire-reader.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const described = execFileSync(
  `${root}/node_modules/.bin/buf`,
  ['build', 'proto', '--as-file-descriptor-set', '-o', '-'],
  { cwd: root },
);
const registry = es.createFileRegistry(es.fromBinary(FileDescriptorSetSchema, described));

const generated: unknown[] = Object.values({ ...csi, ...csiRegistration, ...pluginRegistration });
const schemas = generated.filter((value) => 'byNumber' in (value as object)) as DescMessage[];

function esSchema({ typeName }: DescMessage): es.DescMessage {
  const found = registry.getMessage(typeName);
  assert.ok(found, typeName);
  return found;
}

/** Any value that the type allows. */
function anyMessage(schema: DescMessage): fc.Arbitrary<object> {
  const plain = schema.fields.filter(({ oneof }) => oneof === undefined);
  const oneofs = Map.groupBy(
    schema.fields.filter(({ oneof }) => oneof !== undefined),
    ({ oneof }) => oneof as string,
  );
  return fc.record(
    {
      ...Object.fromEntries(plain.map((field) => [field.localName, anyField(field)])),
      ...Object.fromEntries([...oneofs].map(([name, fields]) => [name, anyCase(fields)])),
    },
    { requiredKeys: [] },
  );
}

function anyCase(fields: DescField[]): fc.Arbitrary<unknown> {
  const cases = fields.map((field) => anyValue(field).map((value) => ({ case: field.localName, value })));
  return fc.oneof(fc.constant({ case: undefined }), ...cases);
}

function anyField(field: DescField): fc.Arbitrary<unknown> {
  return field.isRepeated ? fc.array(anyValue(field), { maxLength: 4 }) : anyValue(field);
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ unit: 'grapheme', minLength: 40, maxLength: 60 }),
  fc.string({ minLength: 120, maxLength: 140 }),
);

function anyValue({ kind, message, enumNames }: DescField): fc.Arbitrary<unknown> {
  switch (kind) {
    case 'string':
      return text;
    case 'bool':
      return fc.boolean();
    case 'int32':
      return fc.integer();
    case 'int64':
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case 'enum':
      return fc.oneof(fc.constantFrom(...(enumNames?.keys() ?? [])), fc.integer());
    case 'map':
      return fc.dictionary(text, text, { maxKeys: 4, noNullPrototype: true });
    case 'wrapper':
      return anyValue(message?.fields[0] as DescField);
    case 'message':
      return anyMessage(message as DescMessage);
  }
}

describe('every message of the interface', () => {
  it('is there, and no other', () => {
    const theirs = [...registry]
      .filter((type) => type.kind === 'message' && !type.proto.options?.mapEntry)
      .map(({ typeName }) => typeName)
      .filter((name) => !name.startsWith('google.protobuf.'));
    assert.deepEqual(schemas.map(({ typeName }) => typeName).toSorted(), theirs.toSorted());
  });

  it('has secrets where the interface says so, and nowhere else', () => {
    const secret = schemas.flatMap(({ typeName, fields }) =>
      fields.filter(({ isSecret }) => isSecret).map(({ name }) => `${typeName} ${name}`),
    );
    assert.equal(secret.length, 19);
    assert.deepEqual([...new Set(secret.map((field) => field.split(' ')[1]))], ['secrets']);
  });

  for (const schema of schemas) {
    it(`${schema.typeName} has the same bytes and the same values as in protobuf-es`, () => {
      const theirs = esSchema(schema);
      const property = fc.property(anyMessage(schema), (init) => {
        const bytes = toBinary(schema, create(schema, init as Message));
        const expected = es.toBinary(theirs, es.create(theirs, init as never));
        assert.deepEqual(Buffer.from(bytes), Buffer.from(expected));
        assert.deepEqual(plain(fromBinary(schema, bytes)), plain(es.fromBinary(theirs, bytes)));
      });
      fc.assert(property, { numRuns: 30 });
    });
  }

  it('is read or refused, whatever the bytes, and never anything else', () => {
    const property = fc.property(
      fc.constantFrom(...schemas),
      fc.uint8Array({ maxLength: 60 }),
      (schema, bytes) => {
        try {
          toBinary(schema, fromBinary(schema, bytes));
        } catch (error) {
          assert.ok(error instanceof WireError, String(error));
        }
      },
    );
    fc.assert(property, { numRuns: 2000 });
  });

  it('is refused when it is cut anywhere but between two fields', () => {
    const schema: DescMessage = csi.CreateVolumeRequestSchema;
    const property = fc.property(anyMessage(schema), fc.nat(), (init, cut) => {
      const bytes = toBinary(schema, create(schema, init as Message));
      const part = bytes.subarray(0, cut % (bytes.length + 1));
      let isReadable = true;
      try {
        es.fromBinary(esSchema(schema), part);
      } catch {
        isReadable = false;
      }
      if (isReadable) assert.ok(fromBinary(schema, part));
      else assert.throws(() => fromBinary(schema, part), WireError);
    });
    fc.assert(property, { numRuns: 300 });
  });
});

describe('a message', () => {
  const file = protoFile('test', wellKnown);
  type Newer = Message<'test.Newer'> & { a: string; b: string; c: bigint };
  const Newer = file.message<Newer>('Newer', '1 a string\n2 b string\n4 c int64');
  const Older = file.message<Message & { a: string }>('Older', '1 a string');
  const Numbers = file.message<Message & { n: bigint[]; e: number[] }>(
    'Numbers',
    '1 n repeated int64\n2 e repeated int32',
  );

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

  it('reads numbers of a list packed or one by one', () => {
    const expected = { $typeName: 'test.Numbers', n: [1n, -1n], e: [300] };
    assert.deepEqual(fromBinary(Numbers, Buffer.from('0a0b01ffffffffffffffffff0110ac02', 'hex')), expected);
    const bytes = toBinary(Numbers, expected);
    assert.deepEqual(fromBinary(Numbers, bytes), expected);
  });

  it('adds up parts of a message that come one after the other', () => {
    const schema = csi.CreateVolumeRequestSchema;
    const part = (range: object) => toBinary(schema, create(schema, { capacityRange: range }));
    const bytes = Buffer.concat([part({ requiredBytes: 1n }), part({ limitBytes: 2n })]);
    const { capacityRange } = fromBinary(schema, bytes);
    assert.deepEqual([capacityRange?.requiredBytes, capacityRange?.limitBytes], [1n, 2n]);
  });

  it('keeps every key of a map, also one that objects treat in a way of their own', () => {
    const schema = csi.TopologySchema;
    const segments = Object.fromEntries([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    const read = fromBinary(schema, toBinary(schema, create(schema, { segments })));
    assert.deepEqual(Object.entries(read.segments), Object.entries(segments));
    assert.equal(Object.getPrototypeOf(read.segments), Object.prototype);
  });

  it('shares no memory with the bytes it was read from', () => {
    const bytes = toBinary(Older, create(Older, { a: 'before' }));
    const read = fromBinary(Older, bytes);
    bytes.fill(0);
    assert.equal(read.a, 'before');
  });

  const wrong: [name: string, schema: DescMessage, init: object, why: RegExp][] = [
    [
      'a number for a string',
      csi.VolumeSchema,
      { volumeId: 5 },
      /volume_id of csi.v1.Volume cannot be number/,
    ],
    ['a number for 64 bits', csi.VolumeSchema, { capacityBytes: 5 }, /capacity_bytes/],
    ['more than 64 bits', csi.VolumeSchema, { capacityBytes: 2n ** 63n }, /capacity_bytes/],
    ['a fraction', csi.ListVolumesRequestSchema, { maxEntries: 1.5 }, /max_entries/],
    ['more than 32 bits', csi.ListVolumesRequestSchema, { maxEntries: 2 ** 31 }, /max_entries/],
    ['no string in a map', csi.VolumeSchema, { volumeContext: { a: 1 } }, /volume_context/],
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

/** Without what protobuf-es keeps of fields that it does not know, and what its messages inherit. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => key !== '$unknown');
  return Object.fromEntries(entries.map(([key, item]) => [key, plain(item)]));
}
