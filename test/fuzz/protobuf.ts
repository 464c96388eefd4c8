import assert from 'node:assert/strict';
import * as csi from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { create } from '../../src/wire/protobuf/create.ts';
import { fromBinary } from '../../src/wire/protobuf/decode.ts';
import type { DescField, DescMessage, Message } from '../../src/wire/protobuf/descriptor.ts';
import { toBinary } from '../../src/wire/protobuf/encode.ts';
import { WireError } from '../../src/wire/protobuf/wire-reader.ts';
import type { Draw, FuzzTarget } from './target.ts';

const schemas = Object.values<unknown>(csi).filter(
  (value): value is DescMessage => typeof value === 'object' && value !== null && 'byNumber' in value,
);

export const protobuf: FuzzTarget = {
  summary:
    'messages are read as they were written; mutated bytes are a message that is written and read again as it is, or a WireError',
  seedsInTests: 1500,
  try(draw) {
    const schema = draw.of(schemas);
    const message = create(schema, anyMessage(draw, schema, 0) as Message);
    const bytes = toBinary(schema, message);
    assert.deepEqual(fromBinary(schema, bytes), message);
    const odd = draw.chance(0.2) ? draw.bytes(60) : draw.mutated(bytes);
    let read: Message;
    try {
      read = fromBinary(schema, odd);
    } catch (error) {
      assert.ok(error instanceof WireError, String(error));
      return;
    }
    assert.deepEqual(fromBinary(schema, toBinary(schema, read)), read);
  },
};

function anyMessage(draw: Draw, schema: DescMessage, depth: number): object {
  const message: Record<string, unknown> = {};
  for (const field of schema.fields) {
    if (draw.chance(depth > 3 ? 0.9 : 0.4)) continue;
    if (field.oneof !== undefined) {
      message[field.oneof] = { case: field.localName, value: anyValue(draw, field, depth) };
    } else {
      message[field.localName] = field.isRepeated
        ? draw.list(3, () => anyValue(draw, field, depth))
        : anyValue(draw, field, depth);
    }
  }
  return message;
}

const INT64 = [0n, 1n, -1n, 127n, 128n, 2n ** 31n, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)];
const INT32 = [0, 1, -1, 127, 128, 2 ** 31 - 1, -(2 ** 31)];

function anyValue(draw: Draw, { kind, message }: DescField, depth: number): unknown {
  switch (kind) {
    case 'string':
      return draw.text(draw.of([3, 20, 200]));
    case 'bool':
      return draw.chance(0.5);
    case 'int64':
      return draw.of(INT64);
    case 'int32':
    case 'enum':
      return draw.of(INT32);
    case 'map':
      return Object.fromEntries(
        draw.list(3, () => [draw.of(['__proto__', 'constructor', draw.text(5)]), draw.text(5)]),
      );
    case 'wrapper':
      return anyValue(draw, message?.fields[0] as DescField, depth);
    case 'message':
      return anyMessage(draw, message as DescMessage, depth + 1);
  }
}
