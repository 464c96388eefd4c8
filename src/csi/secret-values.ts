// Keeps secrets out of error texts. Drivers sometimes quote their input in an error; that text ends up in events and
// statuses. Whoever sent the secrets knows them, so whoever sent them can take them out of the answer.

import type { DescMessage, Message } from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import { isSecretField, isSecretKey } from './message-text.ts';

/** `text` with each value of a `csi_secret` field of `message` replaced. */
export function withoutSecrets(text: string, schema: DescMessage, message: Message): string {
  const values: string[] = [];
  collect(reflect(schema, message), values);
  // Longest first, so that a secret that contains another leaves nothing of itself behind.
  values.sort((a, b) => b.length - a.length);
  let clean = text;
  for (const value of values) if (value !== '') clean = clean.replaceAll(value, '[redacted]');
  return clean;
}

function collect(message: ReflectMessage, values: string[]): void {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    const secret = isSecretField(field);
    if (field.fieldKind === 'map') {
      for (const [key, value] of message.get(field))
        if (isSecretKey(key)) values.push(...tokensIn(String(value)));
    }
    if (field.fieldKind === 'message' && !secret) collect(message.get(field), values);
    else if (field.fieldKind === 'list' || field.fieldKind === 'map') {
      const items: Iterable<unknown> =
        field.fieldKind === 'list' ? message.get(field) : message.get(field).values();
      for (const item of items) {
        if (secret) values.push(String(item));
        else if ((field.fieldKind === 'list' ? field.listKind : field.mapKind) === 'message') {
          collect(item as ReflectMessage, values);
        }
      }
    } else if (secret) values.push(String(message.get(field)));
  }
}

/** The whole text, and each string in it: a driver quotes the token, not the JSON around it. */
function tokensIn(text: string): string[] {
  const strings: string[] = [text];
  try {
    JSON.parse(text, (key, value: unknown) => {
      if (key === 'token' && typeof value === 'string') strings.push(value);
      return value;
    });
  } catch {
    // Not what we made; the whole text is taken out all the same.
  }
  return strings;
}
