// Frames of HTTP/2 (RFC 9113): nine bytes that say how long, what, and for which stream, and then the payload. Pure.

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

/** Why a stream or a connection is ended. */
export const ErrorCode = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  SETTINGS_TIMEOUT: 4,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  CONNECT_ERROR: 10,
  ENHANCE_YOUR_CALM: 11,
  INADEQUATE_SECURITY: 12,
  HTTP_1_1_REQUIRED: 13,
} as const;

/** What a client says first. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export const HEADER_BYTES = 9;
/** What everybody takes; larger ones would only have to be asked for. */
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

/** The peer broke the rules in a way that ends the connection. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Cuts what arrives into frames, however it was cut on its way. */
export class FrameReader {
  readonly #take: (frame: Frame) => void;
  #parts: Buffer[] = [];
  #have = 0;
  #need = HEADER_BYTES;

  constructor(take: (frame: Frame) => void) {
    this.#take = take;
  }

  push(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#have += chunk.length;
    if (this.#have < this.#need) return;
    const buffer = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    let at = 0;
    this.#need = HEADER_BYTES;
    while (buffer.length - at >= HEADER_BYTES) {
      const bytes = buffer.readUIntBE(at, 3);
      if (bytes > MAX_FRAME_BYTES) {
        throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `a frame has ${bytes} bytes`);
      }
      const end = at + HEADER_BYTES + bytes;
      if (end > buffer.length) {
        this.#need = HEADER_BYTES + bytes;
        break;
      }
      this.#take({
        type: buffer[at + 3] as number,
        flags: buffer[at + 4] as number,
        stream: buffer.readUInt32BE(at + 5) & 0x7fff_ffff,
        payload: buffer.subarray(at + HEADER_BYTES, end),
      });
      at = end;
    }
    this.#have = buffer.length - at;
    this.#parts = this.#have > 0 ? [buffer.subarray(at)] : [];
  }
}
