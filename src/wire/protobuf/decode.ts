// Bytes to messages, by the table of their fields. Fields that are not in it, from a newer interface, are skipped.

import { emptyMessage } from './create.ts';
import type { DescField, DescMessage, Message, MessageShape } from './descriptor.ts';
import { MAX_DEPTH, WireError, WireReader } from './wire-reader.ts';
import { WireType } from './wire-type.ts';

/** Shares no memory with `bytes`. Throws a WireError. */
export function fromBinary<D extends DescMessage>(schema: D, bytes: Uint8Array): MessageShape<D> {
  return readMessage(new WireReader(bytes), schema, undefined, 0) as never;
}

type Values = Record<string, unknown>;

/** Into `known`, if a part of it came before: the parts of a message add up. */
function readMessage(
  reader: WireReader,
  schema: DescMessage,
  known: (Message & Values) | undefined,
  depth: number,
): Message {
  if (depth > MAX_DEPTH) throw new WireError(`nested deeper than ${MAX_DEPTH} levels`);
  const message = known ?? emptyMessage(schema);
  const { byNumber } = schema;
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    const wireType = tag % 8;
    const field = byNumber[(tag - wireType) / 8];
    if (field === undefined || !fits(field, wireType)) reader.skip(tag);
    else if (wireType === WireType.LENGTH) readWithLength(reader, message, field, depth);
    else setField(message, field, readScalar(reader, field.kind));
  }
  return message;
}

function readWithLength(reader: WireReader, message: Values, field: DescField, depth: number): void {
  const { kind, localName, oneof } = field;
  if (kind === 'string') {
    setField(message, field, reader.string());
    return;
  }
  const outerEnd = reader.enter();
  if (kind === 'map') readEntry(reader, message[localName] as Record<string, string>);
  else if (kind === 'message' || kind === 'wrapper') {
    const schema = field.message as DescMessage;
    const before = oneof === undefined ? message[localName] : chosenValue(message[oneof], localName);
    const known = field.isRepeated || kind === 'wrapper' ? undefined : before;
    const value = readMessage(reader, schema, known as (Message & Values) | undefined, depth + 1);
    setField(message, field, kind === 'wrapper' ? (value as Message & Values).value : value);
  } else {
    // Numbers of a list, packed.
    while (!reader.isAtEnd) setField(message, field, readScalar(reader, kind));
  }
  reader.leave(outerEnd);
}

const KEY_TAG = 10;
const VALUE_TAG = 18;

function readEntry(reader: WireReader, map: Record<string, string>): void {
  let key = '';
  let value = '';
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    if (tag === KEY_TAG) key = reader.string();
    else if (tag === VALUE_TAG) value = reader.string();
    else reader.skip(tag);
  }
  if (key !== '__proto__') map[key] = value;
  // An assignment would replace the prototype.
  else Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
}

function setField(message: Values, { localName, oneof, isRepeated }: DescField, value: unknown): void {
  if (oneof !== undefined) message[oneof] = { case: localName, value };
  else if (isRepeated) (message[localName] as unknown[]).push(value);
  else message[localName] = value;
}

function readScalar(reader: WireReader, kind: DescField['kind']): unknown {
  if (kind === 'int64') return reader.int64();
  const { low, high } = reader.varint();
  return kind === 'bool' ? low !== 0 || high !== 0 : low | 0;
}

function chosenValue(oneof: unknown, name: string): unknown {
  const chosen = oneof as { case?: string; value?: unknown };
  return chosen.case === name ? chosen.value : undefined;
}

function fits({ kind, isRepeated }: DescField, wireType: number): boolean {
  const isNumber = kind === 'bool' || kind === 'int32' || kind === 'int64' || kind === 'enum';
  if (!isNumber) return wireType === WireType.LENGTH;
  return wireType === WireType.VARINT || (isRepeated && wireType === WireType.LENGTH);
}
