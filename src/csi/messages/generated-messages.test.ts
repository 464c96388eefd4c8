// Every message of proto/ against protobuf-es, which reads the same .proto files with its own code: any values have the same
// bytes in both, and are read back as they were.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as es from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { create } from '../../wire/protobuf/create.ts';
import { fromBinary } from '../../wire/protobuf/decode.ts';
import type { DescField, DescMessage, Message } from '../../wire/protobuf/descriptor.ts';
import { toBinary } from '../../wire/protobuf/encode.ts';
import { fromJson, toJson } from '../../wire/protobuf/json.ts';
import { WireError } from '../../wire/protobuf/wire-reader.ts';
import * as csi from '../generated/csi/v1/csi_pb.ts';
import * as csiRegistration from '../generated/csiregistration/csi_registration_pb.ts';
import * as health from '../generated/grpc/health/v1/health_pb.ts';
import * as pluginRegistration from '../generated/pluginregistration/registration_pb.ts';
import * as snapshotMetadata from '../generated/snapshotmetadata/schema_pb.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const described = execFileSync(
  `${root}/node_modules/.bin/buf`,
  ['build', 'proto', '--as-file-descriptor-set', '-o', '-'],
  { cwd: root },
);
const registry = es.createFileRegistry(es.fromBinary(FileDescriptorSetSchema, described));

// Not merged into one object: two of them have messages of the same name.
const generated: unknown[] = [csi, csiRegistration, health, pluginRegistration, snapshotMetadata].flatMap(
  (file) => Object.values(file),
);
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
    assert.equal(secret.length, 21);
    assert.deepEqual([...new Set(secret.map((field) => field.split(' ')[1]))], ['secrets', 'security_token']);
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

  for (const schema of schemas) {
    it(`${schema.typeName} has the JSON that protobuf-es writes, and is read back from it`, () => {
      const property = fc.property(anyMessage(schema), (init) => {
        const message = create(schema, init as Message);
        let theirs: es.JsonValue;
        try {
          theirs = es.toJson(esSchema(schema), es.fromBinary(esSchema(schema), toBinary(schema, message)));
        } catch {
          // A time that JSON cannot express.
          return;
        }
        assert.deepEqual(toJson(schema, message), theirs);
        assert.deepEqual(toJson(schema, fromJson(schema, JSON.parse(JSON.stringify(theirs)))), theirs);
      });
      fc.assert(property, { numRuns: 30 });
    });
  }
});

/** Without what protobuf-es keeps of fields that it does not know, and what its messages inherit. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => key !== '$unknown');
  return Object.fromEntries(entries.map(([key, item]) => [key, plain(item)]));
}
