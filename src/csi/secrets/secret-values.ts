// Keeps secrets out of error texts. Drivers sometimes quote their input in an error; that text ends up in events and
// statuses. The sender of the secrets knows them, and removes them from the answer.

import type { DescMessage, Message } from '../../wire/protobuf/descriptor.ts';
import { setFields } from '../../wire/protobuf/set-fields.ts';
import { isSecretKey } from '../messages/message-text.ts';

/** `text` with each value of a `csi_secret` field of `message` replaced. */
export function withoutSecrets(text: string, schema: DescMessage, message: Message): string {
  return withoutValues(text, secretValuesIn(schema, message));
}

/** Longest first, so that a secret that contains another leaves nothing of itself behind when both are replaced. */
export function secretValuesIn(schema: DescMessage, message: Message): string[] {
  const values: string[] = [];
  collect(schema, message, values);
  return values.filter((value) => value !== '').sort((a, b) => b.length - a.length);
}

/** `values` as `secretValuesIn` returns them. */
export function withoutValues(text: string, values: readonly string[]): string {
  let clean = text;
  for (const value of values) clean = clean.replaceAll(value, '[redacted]');
  return clean;
}

function collect(schema: DescMessage, message: Message, values: string[]): void {
  for (const { field, value } of setFields(schema, message)) {
    if (field.kind === 'map') {
      for (const [key, item] of Object.entries(value as Record<string, string>)) {
        if (field.isSecret) values.push(item);
        else if (isSecretKey(key)) values.push(...tokensIn(item));
      }
    } else {
      const items = field.isRepeated ? (value as unknown[]) : [value];
      if (field.isSecret) values.push(...items.map(String));
      else if (field.kind === 'message' && field.message) {
        for (const item of items) collect(field.message, item as Message, values);
      }
    }
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
