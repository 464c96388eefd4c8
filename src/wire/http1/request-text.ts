// The text of a request: head and body in one string, so that it leaves in one packet where it fits.

import { HttpError } from './http-error.ts';

export type RequestHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface RequestParts {
  readonly method: string;
  /** Path and query, already escaped. */
  readonly path: string;
  readonly host: string;
  /** Must not be changed afterwards: its text is cached. */
  readonly headers: RequestHeaders;
  readonly body?: string | undefined;
  /** With latin1 each character of the body is a byte. */
  readonly bodyEncoding?: BodyEncoding | undefined;
}

export type BodyEncoding = 'utf8' | 'latin1';

const NOT_IN_PATH = /[^\x21-\x7e]/;
const NOT_IN_NAME = /[^\w!#$%&'*+.^`|~-]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is its purpose
const NOT_IN_VALUE = /[\x00-\x08\x0a-\x1f\x7f]/;

export function requestText({ method, path, host, headers, body, bodyEncoding }: RequestParts): string {
  if (!path.startsWith('/') || NOT_IN_PATH.test(path)) throw unsendable('its path', path);
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${headerLines(headers)}`;
  if (bodyEncoding === 'latin1') head = asBytes(head);
  if (body !== undefined)
    return `${head}content-length: ${Buffer.byteLength(body, bodyEncoding)}\r\n\r\n${body}`;
  return method === 'GET' || method === 'HEAD' ? `${head}\r\n` : `${head}content-length: 0\r\n\r\n`;
}

const known = new WeakMap<RequestHeaders, string>();

/** Cached by identity: most requests of a client have the same headers. */
function headerLines(headers: RequestHeaders): string {
  let lines = known.get(headers);
  if (lines !== undefined) return lines;
  lines = '';
  for (const name in headers) {
    const value = headers[name] as string | readonly string[];
    if (typeof value === 'string') lines += headerLine(name, value);
    else for (const one of value) lines += headerLine(name, one);
  }
  known.set(headers, lines);
  return lines;
}

/** The bytes of the text in UTF-8, each as a character. */
function asBytes(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}

function headerLine(name: string, value: string): string {
  // Values may be secret: the error names the header only.
  if (name === '' || NOT_IN_NAME.test(name) || NOT_IN_VALUE.test(value)) throw unsendable('the header', name);
  return `${name}: ${value}\r\n`;
}

function unsendable(what: string, text: string): HttpError {
  return new HttpError(
    'HTTP_UNSENDABLE',
    `the request cannot be sent: ${what} ${JSON.stringify(text)} is malformed`,
  );
}
