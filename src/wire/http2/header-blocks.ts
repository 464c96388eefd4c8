// Header blocks as they arrive: put together from HEADERS and CONTINUATION frames, within limits, and decoded in order.

import { Flag, type Frame, FrameType } from './frame.ts';
import { type HeaderBlock, HeaderBlockError, HeaderDecoder } from './header-decoder.ts';
import { ConnectionError, ErrorCode } from './http2-error.ts';

/** Of all headers of one message, as HPACK counts them. gRPC errors travel in headers, with their texts. */
export const MAX_HEADER_LIST_BYTES = 65_536;
/** Against CONTINUATION floods: enough for the longest block in frames of 4 KiB. */
const MAX_PARTS = 16;

export interface ReceivedHeaders extends HeaderBlock {
  readonly stream: number;
  readonly isEnd: boolean;
}

export class HeaderBlocks {
  readonly #decoder = new HeaderDecoder({ maxTableBytes: 4096, maxListBytes: MAX_HEADER_LIST_BYTES });
  #open: { stream: number; isEnd: boolean; parts: Buffer[]; bytes: number } | undefined;

  /** In the middle of a block only CONTINUATION may come. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** A HEADERS or CONTINUATION frame, without its padding; the block, if this was its end. */
  receive({ type, stream, flags }: Frame, fragment: Buffer): ReceivedHeaders | undefined {
    if (type === FrameType.HEADERS) {
      const isEnd = (flags & Flag.END_STREAM) !== 0;
      this.#open = { stream, isEnd, parts: [], bytes: 0 };
    }
    const open = this.#open;
    if (open === undefined || open.stream !== stream || stream === 0) {
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'a header block is out of sequence');
    }
    open.parts.push(fragment);
    open.bytes += fragment.length;
    if (open.bytes > MAX_HEADER_LIST_BYTES || open.parts.length > MAX_PARTS) {
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'a header block without end');
    }
    if (!(flags & Flag.END_HEADERS)) return undefined;
    this.#open = undefined;
    try {
      const { fields, isTooLong, isMalformed } = this.#decoder.decode(
        open.parts.length === 1 ? fragment : Buffer.concat(open.parts),
      );
      return { stream, isEnd: open.isEnd, fields, isTooLong, isMalformed };
    } catch (error) {
      if (!(error instanceof HeaderBlockError)) throw error;
      throw new ConnectionError(ErrorCode.COMPRESSION_ERROR, error.message);
    }
  }
}
