// Reads a recording back: calls in the order of their arrival, each with its answer if it got one. A file that ends in the
// middle of a line was cut short by a crash and is read up to there; anything else that is wrong is an error with its line.

import { createReadStream } from 'node:fs';
import { csiMethodAt } from '../csi/names/csi-methods.ts';
import { ExpectedError } from '../runtime/expected-error.ts';
import { type GrpcCode, grpcCodes } from '../wire/grpc/grpc-code.ts';
import type { DescMessage, DescMethod, Message } from '../wire/protobuf/descriptor.ts';
import { fromJson } from '../wire/protobuf/json.ts';
import { type AnswerLine, type CallLine, FORMAT, type HeaderLine, VERSION } from './recording-format.ts';

export interface RecordedAnswer {
  /** Its line: the order in which calls arrived and ended. */
  readonly line: number;
  readonly atMs: number;
  /** A number that gRPC does not define is UNKNOWN. */
  readonly code: GrpcCode;
  /** gRPC's number. */
  readonly rawCode: number;
  readonly text: string;
  readonly details: Uint8Array | undefined;
  readonly isLost: boolean;
  /** Undefined unless the call succeeded and its answer was recorded. */
  readonly response: Message | undefined;
}

export interface RecordedCall {
  readonly id: number;
  readonly line: number;
  readonly atMs: number;
  readonly path: string;
  /** Undefined for one that is not of this version of CSI. */
  readonly method: DescMethod | undefined;
  /** Undefined if it was not recorded. */
  readonly request: Message | undefined;
  readonly hadSecrets: boolean;
  readonly target: string | undefined;
  /** Undefined if the recording ended first. */
  readonly answer: RecordedAnswer | undefined;
}

export interface Recording {
  readonly path: string;
  readonly header: HeaderLine;
  readonly calls: readonly RecordedCall[];
  /** Its last line is incomplete. */
  readonly isCutShort: boolean;
}

export class RecordingError extends ExpectedError {
  override readonly name = 'RecordingError';

  constructor(message: string, cause?: unknown) {
    super(message, cause);
  }
}

/** No line of a recording is longer: two messages of the longest kind, in JSON. */
const LONGEST_LINE = 64 << 20;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export async function readRecording(path: string): Promise<Recording> {
  let header: HeaderLine | undefined;
  const calls: Mutable<RecordedCall>[] = [];
  const byId = new Map<number, Mutable<RecordedCall>>();
  const take = (text: string, number: number): void => {
    const line = parse(text, path, number, header === undefined);
    if (header === undefined) {
      header = checkedHeader(line, path);
      return;
    }
    const refuse = (why: string): never => {
      throw new RecordingError(`${path}, line ${number}: ${why}`);
    };
    if (line.kind === 'call') {
      const call = recordedCall(line as unknown as CallLine, number, refuse);
      if (byId.has(call.id)) refuse(`there are two calls ${call.id}`);
      byId.set(call.id, call);
      calls.push(call);
    } else if (line.kind === 'answer') {
      const call = byId.get(line.id as number) ?? refuse(`there is no call ${String(line.id)} before it`);
      if (call.answer) refuse(`call ${call.id} has two answers`);
      call.answer = recordedAnswer(line as unknown as AnswerLine, { number, method: call.method, refuse });
    }
    // Another kind is of a later version that older readers can do without.
  };
  const rest = await eachLine(path, take);
  if (header === undefined) {
    throw new RecordingError(
      rest === ''
        ? `${path} is empty, not a recording of CSI calls`
        : `${path} is not a recording of CSI calls: its first line is not complete`,
    );
  }
  return { path, header, calls, isCutShort: rest !== '' };
}

/** Calls `take` with each complete line; resolves with what comes after the last. */
async function eachLine(path: string, take: (line: string, number: number) => void): Promise<string> {
  let rest = '';
  let number = 0;
  try {
    for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 1 << 20 })) {
      const lines = (rest + (chunk as string)).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > LONGEST_LINE)
        throw new RecordingError(`${path}, line ${number + 1} is too long for a recording`);
      for (const line of lines) take(line, ++number);
    }
  } catch (error) {
    if (error instanceof RecordingError) throw error;
    throw new RecordingError(`cannot read the recording: ${(error as Error).message}`, error);
  }
  return rest;
}

function parse(text: string, path: string, number: number, isFirst: boolean): Record<string, unknown> {
  try {
    const line: unknown = JSON.parse(text);
    if (typeof line === 'object' && line !== null && !Array.isArray(line)) return line as never;
  } catch {
    // Told below.
  }
  throw new RecordingError(
    isFirst
      ? `${path} is not a recording of CSI calls: its first line is not the header that \`berth proxy --record\` writes`
      : `${path}, line ${number} is not a JSON object; the file was changed or damaged after it was recorded`,
  );
}

function checkedHeader(line: Record<string, unknown>, path: string): HeaderLine {
  const { format, version } = line as Partial<HeaderLine>;
  if (format !== FORMAT) {
    throw new RecordingError(
      `${path} is not a recording of CSI calls: its first line has no "format":"${FORMAT}"`,
    );
  }
  if (version !== VERSION) {
    throw new RecordingError(
      `${path} is a recording of version ${String(version)}, and this berth reads version ${VERSION}; use the berth that recorded it`,
    );
  }
  return line as unknown as HeaderLine;
}

function recordedCall(line: CallLine, number: number, refuse: (why: string) => never): Mutable<RecordedCall> {
  const { id, atMs, method: path, request, stripped = [], target } = line;
  if (!Number.isInteger(id)) refuse('a call needs an id');
  if (typeof atMs !== 'number' || typeof path !== 'string') refuse('a call needs atMs and method');
  const method = csiMethodAt(path);
  return {
    id,
    line: number,
    atMs,
    path,
    method,
    request: method && request && decoded(method.input, request, refuse),
    hadSecrets: stripped.some((field) => field === 'secrets' || field.endsWith('.secrets')),
    target,
    answer: undefined,
  };
}

function recordedAnswer(
  line: AnswerLine,
  {
    number,
    method,
    refuse,
  }: { number: number; method: DescMethod | undefined; refuse: (why: string) => never },
): RecordedAnswer {
  const { atMs, code, message = '', details, lost = false, response } = line;
  if (typeof atMs !== 'number') refuse('an answer needs atMs');
  const rawCode = typeof code === 'number' ? code : grpcCodes[code as GrpcCode];
  if (rawCode === undefined) refuse(`${JSON.stringify(code)} is not a code of gRPC`);
  return {
    line: number,
    atMs,
    code: typeof code === 'string' ? (code as GrpcCode) : 'UNKNOWN',
    rawCode,
    text: message,
    details: details === undefined ? undefined : Buffer.from(details, 'base64'),
    isLost: lost,
    response: method && response && decoded(method.output, response, refuse),
  };
}

function decoded(schema: DescMessage, json: unknown, refuse: (why: string) => never): Message {
  try {
    return fromJson(schema, json);
  } catch (error) {
    return refuse((error as Error).message);
  }
}
