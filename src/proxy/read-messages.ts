// Decodes the messages in the data of a call.

import { MessageReader } from '../wire/grpc/message-framing.ts';
import { fromBinary } from '../wire/protobuf/decode.ts';
import type { DescMessage, Message } from '../wire/protobuf/descriptor.ts';

/** Empty if any of them is compressed, cut short, or not of the schema. */
export function readMessages(schema: DescMessage, data: readonly Buffer[]): Message[] {
  const found: Message[] = [];
  try {
    const reader = new MessageReader(Number.MAX_SAFE_INTEGER, (bytes) =>
      found.push(fromBinary(schema, bytes)),
    );
    for (const bytes of data) if (reader.push(bytes)) return [];
    return reader.end() ? [] : found;
  } catch {
    return [];
  }
}
