// A message as one line of JSON for the log, in the names of the interface, with every field that the interface itself
// marks `csi_secret` replaced, at any depth. Pure.

import { KEY_SERVICE_ACCOUNT_TOKENS } from '../../api/well-known.ts';
import type { DescMessage, Message } from '../../wire/protobuf/descriptor.ts';
import { type JsonOptions, toJson } from '../../wire/protobuf/json.ts';

/** Stands where a secret was. */
export const STRIPPED = '***stripped***';

const options: JsonOptions = {
  nameOf: ({ name }) => name,
  field: (field, write) => (field.isSecret ? STRIPPED : write()),
  text: (value, { key }) => (key !== undefined && isSecretKey(key) ? STRIPPED : value),
};

/** `maxLength` cuts the text (official `--max-grpc-log-length`); not positive: no limit. */
export function messageText(schema: DescMessage, message: Message, maxLength = -1): string {
  const text = JSON.stringify(toJson(schema, message, options));
  if (maxLength <= 0 || text.length <= maxLength) return text;
  return `${text.slice(0, maxLength)} [cut: ${text.length} characters, limit ${maxLength}]`;
}

/** Service account tokens travel in the volume context, which the interface does not mark. */
export function isSecretKey(key: string): boolean {
  return key === KEY_SERVICE_ACCOUNT_TOKENS;
}
