// A message as a recording keeps it: JSON of proto3 without secrets. What the specification marks as a secret is left out, and
// its values are replaced wherever else they occur.

import { isSecretKey, STRIPPED } from '../csi/messages/message-text.ts';
import { withoutValues } from '../csi/secrets/secret-values.ts';
import type { DescMessage, Message } from '../wire/protobuf/descriptor.ts';
import { type JsonObject, toJson } from '../wire/protobuf/json.ts';

/** A shorter secret is not looked for in other fields: replacing every "1" would destroy the recording and hide nothing. */
const SHORTEST_SOUGHT = 6;

export interface RecordedMessage {
  readonly json: JsonObject;
  readonly stripped: readonly string[];
}

/** `secrets`: values that came with the request, longest first. */
export function recordedMessage(
  schema: DescMessage,
  message: Message,
  secrets: readonly string[],
): RecordedMessage {
  const stripped: string[] = [];
  const sought = secrets.length === 0 ? secrets : secrets.filter(({ length }) => length >= SHORTEST_SOUGHT);
  const json = toJson(schema, message, {
    field(field, write, path) {
      if (!field.isSecret) return write();
      stripped.push(path);
      return undefined;
    },
    text(value, { path, key }) {
      const place = key === undefined ? path : `${path}[${key}]`;
      const clean =
        key !== undefined && isSecretKey(key)
          ? STRIPPED
          : sought.length === 0
            ? value
            : withoutValues(value, sought);
      if (clean !== value) stripped.push(place);
      return clean;
    },
  });
  return { json, stripped };
}
