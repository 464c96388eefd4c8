// Makes complete messages: fields that are not given get their defaults.

import type { DescField, DescMessage, Message, MessageInitShape, MessageShape } from './descriptor.ts';

type Values = Record<string, unknown>;

/** A message of the type is returned as it is. Anything else is copied; its lists and maps are shared. */
export function create<D extends DescMessage>(schema: D, init?: MessageInitShape<D>): MessageShape<D> {
  const given = init as (Message & Values) | undefined;
  if (given?.$typeName === schema.typeName) return given as never;
  const message = emptyMessage(schema);
  if (given) {
    for (const field of schema.fields) {
      const name = field.oneof ?? field.localName;
      const value = given[name];
      if (value !== undefined && value !== null) initField(message, field, name, value);
    }
  }
  return message as never;
}

/** All defaults. A nested message has no default and is absent. */
export function emptyMessage(schema: DescMessage): Message & Values {
  const message: Message & Values = { $typeName: schema.typeName };
  for (const field of schema.fields) {
    const { localName, oneof } = field;
    if (oneof !== undefined) message[oneof] = { case: undefined };
    else if (field.isRepeated) message[localName] = [];
    else {
      const value = defaultValue(field.kind);
      if (value !== undefined) message[localName] = value;
    }
  }
  return message;
}

function defaultValue(kind: DescField['kind']): unknown {
  switch (kind) {
    case 'string':
      return '';
    case 'bool':
      return false;
    case 'int64':
      return 0n;
    case 'int32':
    case 'enum':
      return 0;
    case 'map':
      return {};
    default:
      return undefined;
  }
}

function initField(message: Values, field: DescField, name: string, value: unknown): void {
  if (field.oneof !== undefined) {
    const chosen = value as { case?: string; value?: unknown };
    if (chosen.case === field.localName) {
      message[name] = { case: chosen.case, value: initValue(field, chosen.value) };
    }
  } else if (field.isRepeated && field.message) {
    message[name] = (value as unknown[]).map((item) => initValue(field, item));
  } else message[name] = initValue(field, value);
}

function initValue({ kind, message }: DescField, value: unknown): unknown {
  return kind === 'message' && message ? create(message, value as Message) : value;
}
