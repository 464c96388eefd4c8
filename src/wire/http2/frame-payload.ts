// Reads the parts of frames that every receiver has to check: sizes, padding, priorities. Pure.

import { Flag, type Frame, FrameType } from './frame.ts';
import { ConnectionError, ErrorCode, protocolError } from './http2-error.ts';

/** The payload of DATA, HEADERS or CONTINUATION, without padding and priority. */
export function withoutPadding({ type, flags, stream, payload }: Frame): Buffer {
  let start = 0;
  let end = payload.length;
  if (type !== FrameType.CONTINUATION && flags & Flag.PADDED) {
    start = 1;
    end -= payload[0] ?? 0;
  }
  if (type === FrameType.HEADERS && flags & Flag.PRIORITY) {
    if (start + 5 <= end) checkDependency(payload, start, stream);
    start += 5;
  }
  if (start > end) throw protocolError('a frame has more padding than bytes');
  return start === 0 && end === payload.length ? payload : payload.subarray(start, end);
}

/** Priorities are read, not followed: RFC 9113 has deprecated them. */
export function checkPriority(frame: Frame): void {
  expectBytes(frame, 5);
  if (frame.stream === 0) throw protocolError('a priority for no stream');
  checkDependency(frame.payload, 0, frame.stream);
}

function checkDependency(payload: Buffer, at: number, stream: number): void {
  if ((payload.readUInt32BE(at) & 0x7fff_ffff) === stream) throw protocolError('a stream depends on itself');
}

export function expectBytes({ type, payload }: Frame, bytes: number): void {
  if (payload.length === bytes) return;
  const text = `a frame of type ${type} has ${payload.length} bytes`;
  throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, text);
}

export function expectNoStream({ type, stream }: Frame): void {
  if (stream !== 0) throw protocolError(`a frame of type ${type} for a stream`);
}
