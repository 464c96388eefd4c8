// Writes a recording: a line when a call arrives and a line when it ends, so that a crash leaves what was under way, too. Lines
// that come while a write is under way go into the next one; calls never wait for the disk. If the disk fails, recording ends
// and calls go on.

import { type FileHandle, open, rm } from 'node:fs/promises';
import { secretValuesIn, withoutValues } from '../csi/secrets/secret-values.ts';
import type { Clock, Log } from '../runtime/ports.ts';
import { grpcCodeOf } from '../wire/grpc/grpc-code.ts';
import type { DescMethod, Message } from '../wire/protobuf/descriptor.ts';
import { recordedMessage } from './recorded-message.ts';
import { type AnswerLine, type CallLine, FORMAT, type HeaderLine, VERSION } from './recording-format.ts';

/** Longer messages are not recorded: 5,000 volumes fit into one ListVolumes answer of this size. */
export const LONGEST_MESSAGE_BYTES = 1 << 20;
/** Secrets are stripped; names, parameters and paths of a cluster are still nobody else's business. */
const MODE = 0o600;
/** If the disk cannot keep up, calls are left out rather than kept in memory without limit. */
const MOST_WAITING_BYTES = 64 << 20;

export interface BegunCall {
  readonly path: string;
  readonly method: DescMethod | undefined;
  /** Not read when `requestBytes` says that it is too large. */
  readonly request: Message | undefined;
  /** Length on the wire; 0 where it is not known. */
  readonly requestBytes: number;
  readonly caller?: { readonly connection?: number; readonly agent?: string };
  readonly target?: string;
}

export interface EndedCall {
  /** gRPC's number. */
  readonly code: number;
  readonly text: string;
  readonly details?: Uint8Array | undefined;
  readonly isLost: boolean;
  /** Not read when `bytes` says that it is too large. */
  readonly response?: Message | undefined;
  readonly bytes?: number | undefined;
}

export interface Recorder {
  /** Returns what is to be called once when the call ends. */
  begin(call: BegunCall): (end: EndedCall) => void;
  /** Calls so far. */
  readonly calls: number;
  /** Why it ended before it was closed. */
  readonly failure: string | undefined;
  /** Writes the rest. */
  close(): Promise<void>;
  /** Removes the file: what was to be recorded did not start. */
  discard(): Promise<void>;
}

/** Creates the file, which must not exist: a recording is never overwritten. */
export async function openRecorder(options: {
  path: string;
  by: string;
  clock: Clock;
  log: Log;
}): Promise<Recorder> {
  const { path, clock, log } = options;
  const file = await create(path);
  const startMs = clock.monotonicMs();
  let calls = 0;
  let waiting: string[] = [];
  let waitingBytes = 0;
  let writing: Promise<void> | undefined;
  let failure: string | undefined;

  const write = async (): Promise<void> => {
    while (waiting.length > 0 && failure === undefined) {
      const text = waiting.join('');
      waiting = [];
      waitingBytes = 0;
      try {
        await file.appendFile(text);
      } catch (error) {
        failure = (error as Error).message;
        log.error('the recording cannot be written and ends here; calls are forwarded as before', error, {
          file: path,
        });
      }
    }
    waiting = [];
    writing = undefined;
  };
  const add = (line: HeaderLine | CallLine | AnswerLine): void => {
    if (failure !== undefined) return;
    const text = `${JSON.stringify(line)}\n`;
    waitingBytes += text.length;
    if (waitingBytes > MOST_WAITING_BYTES) {
      failure = 'the disk is too slow';
      log.error('the recording ends here; calls are forwarded as before', failure, { file: path });
      return;
    }
    waiting.push(text);
    writing ??= Promise.resolve().then(write);
  };
  const atMs = (): number => Math.round((clock.monotonicMs() - startMs) * 1000) / 1000;

  add({
    format: FORMAT,
    version: VERSION,
    startedAt: new Date(clock.now()).toISOString(),
    by: options.by,
  });
  await writing;
  if (failure !== undefined) throw new Error(`cannot record to ${path}: ${failure}`);

  return {
    get calls() {
      return calls;
    },
    get failure() {
      return failure;
    },
    begin(call) {
      calls += 1;
      const id = calls;
      const { secrets, line } = callLine(call, { id, atMs: atMs() });
      add(line);
      return (end) => add(answerLine(call.method, end, { id, atMs: atMs(), secrets }));
    },
    async close() {
      await writing;
      await file.close();
    },
    async discard() {
      await writing;
      await file.close();
      await rm(path, { force: true });
    },
  };
}

async function create(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'ax', MODE);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === 'EEXIST'
        ? `${path} exists, and a recording is never overwritten; remove it or choose another name`
        : message;
    throw new Error(`cannot record: ${why}`, { cause: error });
  }
}

function callLine(
  call: BegunCall,
  { id, atMs }: { id: number; atMs: number },
): { line: CallLine; secrets: readonly string[] | undefined } {
  const { path, method, requestBytes, caller, target } = call;
  const isTooLarge = requestBytes > LONGEST_MESSAGE_BYTES;
  const request = isTooLarge ? undefined : call.request;
  const secrets = method && request ? secretValuesIn(method.input, request) : undefined;
  const kept = method && request && secrets ? recordedMessage(method.input, request, secrets) : undefined;
  const line: CallLine = {
    kind: 'call',
    id,
    atMs,
    method: path,
    ...(kept && { request: kept.json }),
    ...(kept && kept.stripped.length > 0 && { stripped: kept.stripped }),
    ...(isTooLarge && { omittedBytes: requestBytes }),
    ...(caller && { caller }),
    ...(target !== undefined && { target }),
  };
  return { line, secrets };
}

/** `secrets` are undefined if the request was not read: then nobody can tell what in the answer is one. */
function answerLine(
  method: DescMethod | undefined,
  end: EndedCall,
  { id, atMs, secrets }: { id: number; atMs: number; secrets: readonly string[] | undefined },
): AnswerLine {
  const { code, text, details, isLost, bytes = 0 } = end;
  const isTooLarge = bytes > LONGEST_MESSAGE_BYTES;
  const isStream = method?.methodKind === 'server_streaming';
  const response = isTooLarge || isStream ? undefined : end.response;
  const kept = method && response && secrets ? recordedMessage(method.output, response, secrets) : undefined;
  const tells = details && secrets && !quotes(details, secrets);
  return {
    kind: 'answer',
    id,
    atMs,
    code: grpcCodeOf(code) ?? code,
    ...(text !== '' && secrets && { message: withoutValues(text, secrets) }),
    ...(tells && { details: Buffer.from(details).toString('base64') }),
    ...(isLost && { lost: true }),
    ...(kept && { response: kept.json }),
    ...(kept && kept.stripped.length > 0 && { stripped: kept.stripped }),
    ...(isTooLarge && { omittedBytes: bytes }),
    ...(isStream && { streamed: true }),
  };
}

function quotes(details: Uint8Array, secrets: readonly string[]): boolean {
  const bytes = Buffer.from(details.buffer, details.byteOffset, details.byteLength);
  return secrets.some((value) => bytes.includes(value));
}
