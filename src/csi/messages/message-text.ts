// A message as one line of JSON for the log, in the names of the interface, with every field that the interface itself
// marks `csi_secret` replaced, at any depth. Pure.

import { KEY_SERVICE_ACCOUNT_TOKENS } from '../../api/well-known.ts';
import type { DescField, DescMessage, Message } from '../../wire/protobuf/descriptor.ts';
import { type FieldValue, setFields } from '../../wire/protobuf/set-fields.ts';
import { type Timestamp, TimestampSchema, timestampText } from '../../wire/protobuf/well-known.ts';

const stripped = '***stripped***';

/** `maxLength` cuts the text (official `--max-grpc-log-length`); not positive: no limit. */
export function messageText(schema: DescMessage, message: Message, maxLength = -1): string {
  const text = JSON.stringify(messageValue(schema, message));
  if (maxLength <= 0 || text.length <= maxLength) return text;
  return `${text.slice(0, maxLength)} [cut: ${text.length} characters, limit ${maxLength}]`;
}

/** Service account tokens travel in the volume context, which the interface does not mark. */
export function isSecretKey(key: string): boolean {
  return key === KEY_SERVICE_ACCOUNT_TOKENS;
}

function messageValue(schema: DescMessage, message: Message): unknown {
  if (schema === TimestampSchema) return timestampText(message as Timestamp);
  const value: Record<string, unknown> = {};
  for (const set of setFields(schema, message)) {
    value[set.field.name] = set.field.isSecret ? stripped : fieldValue(set);
  }
  return value;
}

function fieldValue({ field, value }: FieldValue): unknown {
  if (field.kind === 'map') {
    const entries = Object.entries(value as Record<string, string>);
    return Object.fromEntries(entries.map(([key, item]) => [key, isSecretKey(key) ? stripped : item]));
  }
  if (field.isRepeated) return (value as unknown[]).map((item) => itemValue(field, item));
  return itemValue(field, value);
}

function itemValue({ kind, message, enumNames }: DescField, value: unknown): unknown {
  if (kind === 'message' && message) return messageValue(message, value as Message);
  if (kind === 'enum') return enumNames?.get(value as number) ?? value;
  return typeof value === 'bigint' ? value.toString() : value;
}
