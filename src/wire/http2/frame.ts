// Frames of HTTP/2 (RFC 9113, section 4): nine bytes of header (length, type, flags, stream), then the payload. Pure.

export const FrameType = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

export const Flag = { END_STREAM: 0x1, ACK: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const;

export const Setting = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
} as const;

/** The first bytes of a client. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export const HEADER_BYTES = 9;
/** The default of the protocol, in both directions unless the peer allows more. */
export const MAX_FRAME_BYTES = 16_384;
export const DEFAULT_WINDOW = 65_535;
export const MAX_WINDOW = 2 ** 31 - 1;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export function writeFrameHeader(
  into: Buffer,
  at: number,
  frame: { type: number; flags: number; stream: number; bytes: number },
): void {
  into[at] = frame.bytes >>> 16;
  into[at + 1] = frame.bytes >>> 8;
  into[at + 2] = frame.bytes;
  into[at + 3] = frame.type;
  into[at + 4] = frame.flags;
  into.writeUInt32BE(frame.stream, at + 5);
}

export function frameOf(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  writeFrameHeader(frame, 0, { type, flags, stream, bytes: payload.length });
  frame.set(payload, HEADER_BYTES);
  return frame;
}

export function numberFrame(type: number, stream: number, value: number): Buffer {
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32BE(value);
  return frameOf(type, 0, stream, payload);
}

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * settings.length);
  for (const [at, [id, value]] of settings.entries()) {
    payload.writeUInt16BE(id, 6 * at);
    payload.writeUInt32BE(value, 6 * at + 2);
  }
  return frameOf(FrameType.SETTINGS, 0, 0, payload);
}

export function goawayFrame(lastStream: number, code: number, text: string): Buffer {
  const debug = Buffer.from(text);
  const payload = Buffer.alloc(8 + debug.length);
  payload.writeUInt32BE(lastStream, 0);
  payload.writeUInt32BE(code, 4);
  debug.copy(payload, 8);
  return frameOf(FrameType.GOAWAY, 0, 0, payload);
}
