// How messages stand in the data of a call: one byte for compression, which is not used, four for the length, and then
// the message.

import { HEADER_BYTES } from '../http2/frame.ts';

const PREFIX_BYTES = 5;

/** Room that an encoded message leaves before itself, for its own prefix and that of its frame. */
export const MESSAGE_HEADROOM = HEADER_BYTES + PREFIX_BYTES;

/** Fills in the prefix of a message that stands after its room. */
export function prefixMessage(framed: Buffer): void {
  framed[HEADER_BYTES] = 0;
  framed.writeUInt32BE(framed.length - MESSAGE_HEADROOM, HEADER_BYTES + 1);
}

/** Why a message cannot be taken. */
export type MessageFault = 'too long' | 'compressed' | 'cut short';

/** Puts the messages of one call together, however they were cut into frames. */
export class MessageReader {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #have = 0;
  #need = PREFIX_BYTES;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(data: Buffer, take: (message: Buffer) => void): MessageFault | undefined {
    this.#parts.push(data);
    this.#have += data.length;
    if (this.#have < this.#need) return undefined;
    const buffer = this.#parts.length === 1 ? data : Buffer.concat(this.#parts);
    let at = 0;
    this.#need = PREFIX_BYTES;
    while (buffer.length - at >= PREFIX_BYTES) {
      if (buffer[at] !== 0) return 'compressed';
      const bytes = buffer.readUInt32BE(at + 1);
      if (bytes > this.#maxBytes) return 'too long';
      const end = at + PREFIX_BYTES + bytes;
      if (end > buffer.length) {
        this.#need = PREFIX_BYTES + bytes;
        break;
      }
      take(buffer.subarray(at + PREFIX_BYTES, end));
      at = end;
    }
    this.#have = buffer.length - at;
    this.#parts = this.#have > 0 ? [buffer.subarray(at)] : [];
    return undefined;
  }

  /** At the end of the data. */
  end(): MessageFault | undefined {
    return this.#have > 0 ? 'cut short' : undefined;
  }
}
