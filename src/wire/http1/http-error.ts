// Failures between a request and the end of its answer. Errors of sockets and TLS come as Node throws them. All have a
// code; none contains a header or a body.

export type HttpErrorCode =
  /** No connection in time. */
  | 'HTTP_CONNECT_TIMEOUT'
  /** The request was sent; its answer did not begin in time. */
  | 'HTTP_ANSWER_TIMEOUT'
  /** Silence in the middle of an answer. */
  | 'HTTP_SILENT'
  /** The server closed the connection before the end of the answer: what was asked for may or may not have happened. */
  | 'HTTP_CLOSED'
  /** The body is longer than the caller allows. */
  | 'HTTP_TOO_LARGE'
  /** What came is not HTTP/1.1. */
  | 'HTTP_MALFORMED'
  /** The request has characters that HTTP/1.1 does not allow. */
  | 'HTTP_UNSENDABLE';

export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly code: HttpErrorCode;

  constructor(code: HttpErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
