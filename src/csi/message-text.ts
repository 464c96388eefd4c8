// A message as one line of JSON for the log, with every field that the interface itself marks `csi_secret` replaced,
// at any depth, through lists and maps. What the descriptor does not know (unknown fields) is not printed at all.

import {
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  type Message,
  toJson,
} from '@bufbuild/protobuf';
import { type ReflectMessage, reflect, type ScalarValue } from '@bufbuild/protobuf/reflect';
import { KEY_SERVICE_ACCOUNT_TOKENS } from '../api/well-known.ts';
import { csi_secret } from './generated/csi/v1/csi_pb.ts';

const stripped = '***stripped***';

/** `maxLength` cuts the text (official `--max-grpc-log-length`); not positive: no limit. */
export function messageText(schema: DescMessage, message: Message, maxLength = -1): string {
  const text = JSON.stringify(messageValue(reflect(schema, message)));
  if (maxLength <= 0 || text.length <= maxLength) return text;
  return `${text.slice(0, maxLength)} [cut: ${text.length} characters, limit ${maxLength}]`;
}

export function isSecretField(field: DescField): boolean {
  return hasOption(field, csi_secret) && getOption(field, csi_secret);
}

/** Service account tokens travel in the volume context, which the interface does not mark. */
export function isSecretKey(key: unknown): boolean {
  return key === KEY_SERVICE_ACCOUNT_TOKENS;
}

function messageValue(message: ReflectMessage): unknown {
  if (message.desc.typeName.startsWith('google.protobuf.')) return toJson(message.desc, message.message);
  const value: Record<string, unknown> = {};
  for (const field of message.sortedFields) {
    if (!message.isSet(field)) continue;
    value[field.name] = isSecretField(field) ? stripped : fieldValue(message, field);
  }
  return value;
}

function fieldValue(message: ReflectMessage, field: DescField): unknown {
  switch (field.fieldKind) {
    case 'message':
      return messageValue(message.get(field));
    case 'list': {
      const list = message.get(field);
      return Array.from(list, (item) => itemValue(field, item));
    }
    case 'map': {
      const entries: Record<string, unknown> = {};
      for (const [key, item] of message.get(field)) {
        entries[String(key)] = isSecretKey(key) ? stripped : itemValue(field, item);
      }
      return entries;
    }
    case 'enum':
      return field.enum.value[message.get(field)]?.name ?? message.get(field);
    case 'scalar':
      return scalarValue(message.get(field));
  }
}

function itemValue(field: DescField & { fieldKind: 'list' | 'map' }, item: unknown): unknown {
  const kind = field.fieldKind === 'list' ? field.listKind : field.mapKind;
  if (kind === 'message') return messageValue(item as ReflectMessage);
  if (kind === 'enum') return field.enum?.value[item as number]?.name ?? item;
  return scalarValue(item as ScalarValue);
}

function scalarValue(value: ScalarValue): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  return value;
}
