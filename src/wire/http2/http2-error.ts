// The two ways in which a peer that breaks the rules of HTTP/2 is answered (RFC 9113, section 5.4).

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

/** Ends the connection: GOAWAY, then close. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Ends one stream with RST_STREAM; the connection goes on. */
export class StreamError extends Error {
  override readonly name = 'StreamError';
  readonly stream: number;
  readonly code: number;

  constructor(stream: number, code: number, message: string) {
    super(message);
    this.stream = stream;
    this.code = code;
  }
}

export function protocolError(message: string): ConnectionError {
  return new ConnectionError(ErrorCode.PROTOCOL_ERROR, message);
}

export function malformed(stream: number, message: string): StreamError {
  return new StreamError(stream, ErrorCode.PROTOCOL_ERROR, message);
}

export function closed(text: string): ConnectionError {
  return new ConnectionError(ErrorCode.STREAM_CLOSED, text);
}

export function overrun(what: string): ConnectionError {
  return new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, `more than ${what} holds`);
}

export function tooMany(what: string): ConnectionError {
  return new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, `too many ${what}`);
}
