// Parses answers of HTTP/1.1 (RFC 9112), one after the other, from pieces of any size. Strict: an answer that two parsers
// could read differently is rejected. Buffers at most one head; the body is passed on as it comes.

import { HttpError } from './http-error.ts';

export interface AnswerHead {
  readonly status: number;
  /** By lower-case name; what came several times is joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface AnswerSink {
  onHead(head: AnswerHead): void;
  /** The bytes are the reader's own and change after the call. */
  onData(bytes: Buffer): void;
}

type State = 'head' | 'sized' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'done';

/** Much more than any API server sends; Go's clients allow 1 MB, Node's 16 KB. */
const MAX_HEAD_BYTES = 64 << 10;
/** A chunk's size, with extensions that nobody uses. */
const MAX_LINE_BYTES = 1024;
/** The length of a body that ends when the server closes the connection. */
const UNTIL_CLOSE = Number.POSITIVE_INFINITY;

const CR = 0x0d;
const LF = 0x0a;
const MAX_PLAIN_DIGITS = 7;
/** By byte; -1 for what is none. */
const HEX_DIGITS = Int8Array.from({ length: 256 }, (_, byte) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(byte).toLowerCase()),
);

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is its purpose
const NOT_IN_VALUE = /[\x00\r\n]/;

export class AnswerParser {
  readonly #sink: AnswerSink;
  #state: State = 'done';
  #toHead = false;
  /** The beginning of a head or line whose end has not come. */
  #text = '';
  /** Bytes of the body, or of its chunk, that are to come. */
  #left = 0;
  #at = 0;
  #trailerBytes = 0;
  #keepAlive = false;
  #idleSeconds: number | undefined;

  constructor(sink: AnswerSink) {
    this.#sink = sink;
  }

  /** The next bytes answer a request of this method. */
  expect(method: string): void {
    this.#toHead = method === 'HEAD';
    this.#state = 'head';
  }

  /** After a whole answer: whether the connection may carry another request. */
  get keepAlive(): boolean {
    return this.#keepAlive;
  }

  /** After how long without a request the server says that it closes the connection. */
  get idleSeconds(): number | undefined {
    return this.#idleSeconds;
  }

  /** True when the answer is whole. Throws when it is none, or when more comes than was announced. */
  push(bytes: Buffer): boolean {
    this.#at = 0;
    while (this.#step(bytes));
    if (this.#state !== 'done') return false;
    if (this.#at < bytes.length) throw malformed('unsolicited bytes');
    return true;
  }

  /** The server has closed its side. True when that is how this answer ends. */
  close(): boolean {
    return this.#state === 'sized' && this.#left === UNTIL_CLOSE;
  }

  /** False when there is nothing more to read in these bytes. */
  #step(bytes: Buffer): boolean {
    switch (this.#state) {
      case 'head': {
        const text = this.#take(bytes, '\r\n\r\n', MAX_HEAD_BYTES);
        if (text !== undefined) this.#beginBody(text);
        return text !== undefined;
      }
      case 'sized':
        if (this.#passOn(bytes)) this.#state = 'done';
        return false;
      case 'chunk-size': {
        const size = this.#plainSize(bytes) ?? this.#sizeLine(bytes);
        if (size === undefined) return false;
        this.#left = size;
        this.#trailerBytes = 0;
        this.#state = this.#left === 0 ? 'trailers' : 'chunk';
        return true;
      }
      case 'chunk':
        if (!this.#passOn(bytes)) return false;
        this.#state = 'chunk-end';
        return true;
      case 'chunk-end':
        if (!this.#isLineEnd(bytes) && this.#take(bytes, '\r\n', 0) === undefined) return false;
        this.#state = 'chunk-size';
        return true;
      case 'trailers': {
        const line = this.#take(bytes, '\r\n', MAX_HEAD_BYTES - this.#trailerBytes);
        if (line === undefined) return false;
        this.#trailerBytes += line.length;
        if (line === '') this.#state = 'done';
        else if (!/^[^\s:]+:/.test(line)) throw malformed('a trailer that is none');
        return line !== '';
      }
      case 'done':
        return false;
    }
  }

  /** A chunk's size as every server writes it, and whole within these bytes; undefined for whatever else comes. */
  #plainSize(bytes: Buffer): number | undefined {
    if (this.#text !== '') return undefined;
    let size = 0;
    let at = this.#at;
    for (const last = at + MAX_PLAIN_DIGITS; at < last; at++) {
      const digit = HEX_DIGITS[bytes[at] ?? 0] as number;
      if (digit < 0) break;
      size = size * 16 + digit;
    }
    if (at === this.#at || bytes[at] !== CR || bytes[at + 1] !== LF) return undefined;
    this.#at = at + 2;
    return size;
  }

  #sizeLine(bytes: Buffer): number | undefined {
    const line = this.#take(bytes, '\r\n', MAX_LINE_BYTES);
    if (line === undefined) return undefined;
    const size = /^[0-9a-f]{1,12}(?=[ \t]*(?:;|$))/i.exec(line)?.[0];
    if (size === undefined) throw malformed('a chunk without its size');
    return Number.parseInt(size, 16);
  }

  #isLineEnd(bytes: Buffer): boolean {
    if (this.#text !== '' || bytes[this.#at] !== CR || bytes[this.#at + 1] !== LF) return false;
    this.#at += 2;
    return true;
  }

  /** What comes before `mark`, once it is all there. */
  #take(bytes: Buffer, mark: string, maxBytes: number): string | undefined {
    const start = this.#at;
    if (this.#text === '') {
      const end = bytes.indexOf(mark, start, 'latin1');
      if (end >= 0 && end - start <= maxBytes) {
        this.#at = end + mark.length;
        return bytes.toString('latin1', start, end);
      }
    }
    const known = this.#text.length;
    const text =
      this.#text + bytes.toString('latin1', start, Math.min(bytes.length, start + maxBytes + mark.length));
    const end = text.indexOf(mark, Math.max(0, known - mark.length + 1));
    if (end >= 0 && end <= maxBytes) {
      this.#text = '';
      this.#at = start + end + mark.length - known;
      return text.slice(0, end);
    }
    if (end >= 0 || text.length >= maxBytes + mark.length)
      throw malformed(`a line or head of more than ${maxBytes} bytes`);
    // What speaks another protocol may well wait for us to answer: say so at its first bytes.
    if (this.#state === 'head' && !'HTTP/1.'.startsWith(text.slice(0, 7))) throw malformed('no HTTP/1.1');
    this.#text = text;
    this.#at = bytes.length;
    return undefined;
  }

  /** True when the last of `#left` has been handed on. */
  #passOn(bytes: Buffer): boolean {
    const end = Math.min(bytes.length, this.#at + this.#left);
    if (end > this.#at) this.#sink.onData(bytes.subarray(this.#at, end));
    this.#left -= end - this.#at;
    this.#at = end;
    return this.#left === 0;
  }

  #beginBody(text: string): void {
    const lineEnd = text.indexOf('\r\n');
    const [, minor, code] = STATUS_LINE.exec(lineEnd < 0 ? text : text.slice(0, lineEnd)) ?? [];
    if (code === undefined) throw malformed('no HTTP/1.1');
    const headers = lineEnd < 0 ? {} : readHeaders(text, lineEnd + 2);
    const status = Number(code);
    if (status === 101) throw malformed('an unsolicited protocol switch');
    // 100 Continue and 103 Early Hints come before the answer.
    if (status < 200) return;
    const bodiless = this.#toHead || status === 204 || status === 304;
    const length = bodiless ? 0 : bodyLength(headers);
    this.#keepAlive = minor === '1' && length !== UNTIL_CLOSE && !has(headers.connection ?? '', 'close');
    this.#idleSeconds = idleSeconds(headers['keep-alive']);
    this.#left = length ?? 0;
    this.#state = length === undefined ? 'chunk-size' : length === 0 ? 'done' : 'sized';
    this.#sink.onHead({ status, headers });
  }
}

function readHeaders(text: string, start: number): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = start; at < text.length; ) {
    let end = text.indexOf('\r\n', at);
    if (end < 0) end = text.length;
    const colon = text.indexOf(':', at);
    if (colon < 0) throw nameless();
    const written = text.slice(at, colon);
    const name = names.get(written) ?? headerName(written);
    const value = text.slice(colon + 1, end).trim();
    if (NOT_IN_VALUE.test(value)) throw malformed(`control characters in the header ${name}`);
    const before = Object.hasOwn(headers, name) ? headers[name] : undefined;
    headers[name] = before === undefined ? value : `${before}, ${value}`;
    at = end + 2;
  }
  return headers;
}

/** The names that servers have used, as they wrote them: there are few, and each comes with every answer. */
const names = new Map<string, string>();
const MAX_NAMES = 256;

function headerName(written: string): string {
  const name = written.toLowerCase();
  // This also refuses lines that continue the one before, and a colon of a later line.
  if (!TOKEN.test(name)) throw nameless();
  if (names.size < MAX_NAMES) names.set(written, name);
  return name;
}

/** Undefined: it comes in chunks. */
function bodyLength(headers: Readonly<Record<string, string>>): number | undefined {
  const { 'content-length': length, 'transfer-encoding': coding } = headers;
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked')
      throw malformed(`the transfer encoding ${JSON.stringify(coding)}`);
    if (length !== undefined) throw malformed('two lengths for one body');
    return undefined;
  }
  if (length === undefined) return UNTIL_CLOSE;
  if (!/^\d{1,15}$/.test(length)) throw malformed(`the length ${JSON.stringify(length)}`);
  return Number(length);
}

function has(list: string, token: string): boolean {
  return list.split(',').some((one) => one.trim().toLowerCase() === token);
}

function idleSeconds(keepAlive: string | undefined): number | undefined {
  const seconds = /\btimeout=(\d{1,6})\b/.exec(keepAlive ?? '')?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}

function nameless(): HttpError {
  return malformed('a header without a name');
}

function malformed(what: string): HttpError {
  return new HttpError('HTTP_MALFORMED', `the server sent ${what}`);
}
