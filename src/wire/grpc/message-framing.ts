// The framing of messages in the data of a call: one byte for compression, which is not supported, four for the length,
// then the message.

import { HEADER_BYTES } from '../http2/frame.ts';
import { type UnitFormat, UnitReader } from '../unit-reader.ts';

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

class MessageError extends Error {
  readonly fault: MessageFault;

  constructor(fault: MessageFault) {
    super(fault);
    this.fault = fault;
  }
}

/** Puts the messages of one call together, however they were cut into frames. */
export class MessageReader implements UnitFormat {
  readonly prefixBytes = PREFIX_BYTES;
  readonly #maxBytes: number;
  readonly #onMessage: (message: Buffer) => void;
  readonly #units = new UnitReader(this);

  constructor(maxBytes: number, onMessage: (message: Buffer) => void) {
    this.#maxBytes = maxBytes;
    this.#onMessage = onMessage;
  }

  /** Bytes of a message that is not whole yet. */
  get heldBytes(): number {
    return this.#units.heldBytes;
  }

  push(data: Buffer): MessageFault | undefined {
    try {
      this.#units.push(data);
      return undefined;
    } catch (error) {
      if (error instanceof MessageError) return error.fault;
      throw error;
    }
  }

  /** At the end of the data. */
  end(): MessageFault | undefined {
    return this.heldBytes > 0 ? 'cut short' : undefined;
  }

  bodyBytes(bytes: Buffer, at: number): number {
    if (bytes[at] !== 0) throw new MessageError('compressed');
    const length = bytes.readUInt32BE(at + 1);
    if (length > this.#maxBytes) throw new MessageError('too long');
    return length;
  }

  take(bytes: Buffer, at: number, end: number): void {
    this.#onMessage(bytes.subarray(at + PREFIX_BYTES, end));
  }
}
