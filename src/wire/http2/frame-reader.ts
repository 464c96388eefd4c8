// Cuts the bytes of a socket into frames. Throws a ConnectionError for a frame that is longer than announced to the peer.

import { UnitReader } from '../unit-reader.ts';
import { type Frame, HEADER_BYTES, MAX_FRAME_BYTES } from './frame.ts';
import { ConnectionError, ErrorCode } from './http2-error.ts';

export function frameReader(take: (frame: Frame) => void): UnitReader {
  return new UnitReader({
    prefixBytes: HEADER_BYTES,
    bodyBytes(bytes, at) {
      const length = bytes.readUIntBE(at, 3);
      if (length <= MAX_FRAME_BYTES) return length;
      throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `a frame has ${length} bytes`);
    },
    take: (bytes, at, end) =>
      take({
        type: bytes[at + 3] as number,
        flags: bytes[at + 4] as number,
        stream: bytes.readUInt32BE(at + 5) & 0x7fff_ffff,
        payload: bytes.subarray(at + HEADER_BYTES, end),
      }),
  });
}
