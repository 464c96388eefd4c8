// The OpenAPI v2 document in the protobuf form that kubectl asks for
// (`com.github.proto-openapi.spec.v2@v1.0+protobuf`): the messages of the gnostic project, with only the fields that
// Kubernetes clients read.

import { tagged, utf8, varint } from '../../api/protobuf/encode-message.ts';
import type { OpenApiV2 } from './openapi.ts';

type Fields = Readonly<Record<string, unknown>>;

/** One message: it appends to its body, a character per byte. */
class Message {
  #body = '';

  text(field: number, value: unknown): this {
    if (typeof value === 'string' && value !== '') this.#body += tagged(field, utf8(value));
    return this;
  }

  texts(field: number, values: unknown): this {
    for (const value of Array.isArray(values) ? values : []) this.#body += tagged(field, utf8(String(value)));
    return this;
  }

  flag(field: number, value: unknown): this {
    if (value === true) this.#body += varint(field * 8) + varint(1);
    return this;
  }

  integer(field: number, value: unknown): this {
    if (typeof value === 'number') this.#body += varint(field * 8) + varint(value);
    return this;
  }

  real(field: number, value: unknown): this {
    if (typeof value !== 'number') return this;
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    this.#body += varint(field * 8 + 1) + bytes.toString('latin1');
    return this;
  }

  message(field: number, inner: Message | undefined): this {
    if (inner) this.#body += tagged(field, inner.#body);
    return this;
  }

  messages(field: number, inner: Iterable<Message>): this {
    for (const each of inner) this.message(field, each);
    return this;
  }

  bytes(): Buffer {
    return Buffer.from(this.#body, 'latin1');
  }
}

export function encodeOpenApiV2({ swagger, info, paths, definitions }: OpenApiV2): Buffer {
  const document = new Message()
    .text(1, swagger)
    .message(2, new Message().text(1, info.title).text(2, info.version))
    .message(8, new Message().messages(2, named(paths, pathItem)))
    .message(9, new Message().messages(1, named(definitions, schema)));
  return document.bytes();
}

/** Entries of a map: a name and a value. */
function named(map: object, encode: (value: Fields) => Message): Message[] {
  return Object.entries(map).map(([name, value]) =>
    new Message().text(1, name).message(2, encode(value as Fields)),
  );
}

/** Arbitrary values are encoded as YAML, of which JSON is a subset. */
const any = (value: unknown): Message => new Message().text(2, JSON.stringify(value));

function extensions(fields: Fields): Message[] {
  return Object.entries(fields)
    .filter(([name]) => name.startsWith('x-'))
    .map(([name, value]) => new Message().text(1, name).message(2, any(value)));
}

function schema(fields: Fields): Message {
  const { additionalProperties: additional, items, properties, type } = fields;
  const values = Array.isArray(fields.enum) ? fields.enum : [];
  return new Message()
    .text(1, fields.$ref)
    .text(2, fields.format)
    .text(4, fields.description)
    .message(5, fields.default === undefined ? undefined : any(fields.default))
    .real(6, fields.multipleOf)
    .real(7, fields.maximum)
    .flag(8, fields.exclusiveMaximum)
    .real(9, fields.minimum)
    .flag(10, fields.exclusiveMinimum)
    .integer(11, fields.maxLength)
    .integer(12, fields.minLength)
    .text(13, fields.pattern)
    .integer(14, fields.maxItems)
    .integer(15, fields.minItems)
    .flag(16, fields.uniqueItems)
    .integer(17, fields.maxProperties)
    .integer(18, fields.minProperties)
    .texts(19, fields.required)
    .messages(20, values.map(any))
    .message(21, isMap(additional) ? new Message().message(1, schema(additional)) : undefined)
    .message(22, type === undefined ? undefined : new Message().texts(1, [type]))
    .message(23, isMap(items) ? new Message().message(1, schema(items)) : undefined)
    .message(25, isMap(properties) ? new Message().messages(1, named(properties, schema)) : undefined)
    .messages(31, extensions(fields));
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const METHODS = [
  ['get', 2],
  ['put', 3],
  ['post', 4],
  ['delete', 5],
  ['patch', 8],
] as const;

function pathItem(fields: Fields): Message {
  const item = new Message();
  for (const [method, number] of METHODS) {
    const described = fields[method];
    if (isMap(described)) item.message(number, operation(described));
  }
  return item.messages(9, parameters(fields.parameters));
}

function operation(fields: Fields): Message {
  return new Message()
    .text(5, fields.operationId)
    .texts(6, fields.produces)
    .texts(7, fields.consumes)
    .messages(8, parameters(fields.parameters))
    .messages(13, extensions(fields));
}

function parameters(list: unknown): Message[] {
  return (Array.isArray(list) ? (list as Fields[]) : []).map((fields) =>
    new Message().message(
      1,
      fields.in === 'body' ? new Message().message(1, bodyParameter(fields)) : otherParameter(fields),
    ),
  );
}

function bodyParameter(fields: Fields): Message {
  return new Message()
    .text(2, fields.name)
    .text(3, fields.in)
    .flag(4, fields.required)
    .message(5, isMap(fields.schema) ? schema(fields.schema) : undefined);
}

function otherParameter(fields: Fields): Message {
  const common = new Message()
    .flag(1, fields.required)
    .text(2, fields.in)
    .text(3, fields.description)
    .text(4, fields.name);
  const inQuery = fields.in === 'query';
  const typed = common.text(inQuery ? 6 : 5, fields.type).flag(inQuery ? 20 : 19, fields.uniqueItems);
  return new Message().message(2, new Message().message(inQuery ? 3 : 4, typed));
}
