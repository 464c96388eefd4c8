// Plays the calls of a recording to a driver and compares its answers. Calls overlap as they did: a call is sent once every call
// that had been answered before it is answered again. It never touches what it did not make, unless it is told to.

import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CsiConnection } from '../../csi/client/connect-csi.ts';
import { CsiError } from '../../csi/csi-error.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { DescMethodUnary, Message } from '../../wire/protobuf/descriptor.ts';
import type { RecordedAnswer, RecordedCall, Recording } from '../read-recording.ts';
import { compareMessages, type FieldDifference } from './compare-messages.ts';
import { identifiersIn, subjectOf } from './identifiers.ts';
import { LiveIds } from './live-ids.ts';
import type { CallDifference, ReplayReport } from './replay-report.ts';

export interface ReplayAsClientOptions {
  connection: CsiConnection;
  clock: Clock;
  signal: AbortSignal;
  /** Keeps the gaps between calls; otherwise as fast as the driver answers. */
  keepsTiming: boolean;
  /** Of each call. */
  timeoutMs: number;
  /** Paths of the recording are below it. */
  directory: string;
  /** Before each name, so that no existing volume is taken for a recorded one; empty: names as recorded. */
  namePrefix: string;
  /** Also calls about volumes and snapshots that the recording did not make: they reach what exists. */
  includeExisting: boolean;
  /** For calls that came with secrets. */
  secrets: Readonly<Record<string, string>> | undefined;
  onProgress?(done: number): void;
}

const UNPLAYABLE = 'skipped: not recorded in full';
const EXISTING = 'skipped: about what the recording did not make';
const UNANSWERED = 'not compared: the recording has no answer of the driver';
const BY_TIMING = 'not compared: ABORTED depends on timing';

/** Of what is left on the driver. */
const MOST_NAMED = 10;

type Live = { readonly response: Message } | { readonly error: CsiError };

export async function replayAsClient(
  recording: Recording,
  options: ReplayAsClientOptions,
): Promise<ReplayReport> {
  const { connection, clock, signal } = options;
  const ids = new LiveIds(options);
  const differences: CallDifference[] = [];
  const left: Record<string, number> = {};
  const lacking = new Map<string, number>();
  /** What was made and is not deleted: kind and live ID. */
  const made = new Map<string, string>();
  let same = 0;
  let done = 0;
  let withoutSecrets = 0;
  const leave = (why: string): void => {
    left[why] = (left[why] ?? 0) + 1;
  };

  async function play(call: RecordedCall): Promise<void> {
    const { method, request } = call;
    if (method?.methodKind !== 'unary' || request === undefined) {
      leave(UNPLAYABLE);
      return;
    }
    if (!options.includeExisting && ids.strangers(method, request).length > 0) {
      leave(EXISTING);
      return;
    }
    const asked = ids.requestOf(method, request);
    if (call.hadSecrets) {
      if (options.secrets) Object.assign(asked, { secrets: options.secrets });
      else withoutSecrets += 1;
    }
    await makeDirectories(method.name, asked);
    const live = await ask(method, asked);
    if (signal.aborted) return;
    keepBooks(method, { request, asked, live });
    judge(call, { method, request, live });
  }

  async function ask(method: DescMethodUnary, request: Message): Promise<Live> {
    try {
      const { timeoutMs } = options;
      return { response: await connection.call(method, request as never, { timeoutMs, signal }) };
    } catch (error) {
      if (error instanceof CsiError) return { error };
      throw error;
    }
  }

  function judge(
    call: RecordedCall,
    { method, request, live }: { method: DescMethodUnary; request: Message; live: Live },
  ): void {
    const { answer } = call;
    const code = 'error' in live ? live.error.code : 'OK';
    // A deadline is the caller's: the driver only noticed it.
    if (answer === undefined || answer.isLost || answer.code === 'DEADLINE_EXCEEDED') {
      leave(UNANSWERED);
      return;
    }
    if (code !== answer.code && (code === 'ABORTED' || answer.code === 'ABORTED')) {
      leave(BY_TIMING);
      return;
    }
    if (code === 'UNIMPLEMENTED' && answer.code !== 'UNIMPLEMENTED')
      lacking.set(method.name, (lacking.get(method.name) ?? 0) + 1);
    const fields: FieldDifference[] =
      code === answer.code
        ? 'error' in live || answer.response === undefined
          ? []
          : compared(method, { request, response: answer.response }, live.response)
        : [codeDifference(answer, live)];
    if (fields.length === 0) same += 1;
    else
      differences.push({
        call: call.id,
        method: method.name,
        subject: subjectOf(method, request),
        fields,
      });
  }

  function compared(
    method: DescMethodUnary,
    recorded: { request: Message; response: Message },
    now: Message,
  ): FieldDifference[] {
    ids.learn(method, recorded, now);
    const expected = ids.answerOf(method, recorded);
    return compareMessages(
      method.output,
      { recorded: expected, now },
      { knows: (id) => options.includeExisting || ids.isLive(id), isPage: isPage(recorded.request) },
    );
  }

  /** So that the report says what is left on the driver. */
  function keepBooks(
    method: DescMethodUnary,
    { request, asked, live }: { request: Message; asked: Message; live: Live },
  ): void {
    if ('error' in live) return;
    if (/^Create/.test(method.name)) {
      const [id] = identifiersIn(method.output, live.response).filter(({ kind }) => kind !== 'node');
      if (id) made.set(`${id.kind} ${id.value}`, subjectOf(method, request));
    } else if (/^Delete/.test(method.name)) {
      for (const { kind, value } of identifiersIn(method.input, asked)) made.delete(`${kind} ${value}`);
    }
  }

  const running = new Map<RecordedCall, Promise<void>>();
  const startedMs = clock.monotonicMs();
  for (const { call, isEnd } of eventsOf(recording.calls)) {
    if (signal.aborted) break;
    if (isEnd) {
      await running.get(call);
      running.delete(call);
      continue;
    }
    if (options.keepsTiming) {
      const waitMs = call.atMs - (clock.monotonicMs() - startedMs);
      if (waitMs > 0) await clock.sleep(waitMs, signal).catch(() => {});
      if (signal.aborted) break;
    }
    const playing = play(call).then(() => options.onProgress?.(++done));
    playing.catch(() => {});
    running.set(call, playing);
  }
  await Promise.all(running.values());
  return {
    recording: recording.path,
    as: 'client',
    calls: recording.calls.length,
    same,
    differences,
    left,
    notes: [...notes()],
  };

  function* notes(): Generator<string> {
    if (recording.isCutShort) yield 'the recording was cut short; it was played up to its last whole line';
    if (signal.aborted) yield `stopped after ${done} calls`;
    for (const [method, count] of lacking)
      yield `the driver does not implement ${method}, of which the recording has ${count}`;
    if (withoutSecrets > 0)
      yield `${withoutSecrets} calls had secrets, which are not recorded, and were sent without; --secrets gives them`;
    for (const [what, subject] of [...made].slice(0, MOST_NAMED))
      yield `${what} (${subject}) was made and not deleted: the recording does not delete it`;
    if (made.size > MOST_NAMED) yield `and ${made.size - MOST_NAMED} more that were made and not deleted`;
  }
}

/** Pages are cut where the driver wants. */
function isPage(request: Message): boolean {
  const { maxEntries = 0, startingToken = '' } = request as Message & {
    maxEntries?: number;
    startingToken?: string;
  };
  return maxEntries !== 0 || startingToken !== '';
}

/** Arrivals and ends in the order in which they happened. A call that never ended has no end. */
function eventsOf(calls: readonly RecordedCall[]): { call: RecordedCall; isEnd: boolean }[] {
  return calls
    .flatMap((call) => [
      { call, isEnd: false, line: call.line },
      ...(call.answer ? [{ call, isEnd: true, line: call.answer.line }] : []),
    ])
    .sort((a, b) => a.line - b.line);
}

function codeDifference(answer: RecordedAnswer, live: Live): FieldDifference {
  const told = (code: string, text: string): string => (text === '' ? code : `${code} (${text})`);
  const now = 'error' in live ? told(live.error.code, live.error.description) : 'OK';
  return { field: 'code', recorded: told(answer.code, answer.text), now };
}

/** By the specification the caller makes the staging directory and the parent of the target. */
async function makeDirectories(method: string, request: Message): Promise<void> {
  const { targetPath, stagingTargetPath } = request as Message & {
    targetPath?: string;
    stagingTargetPath?: string;
  };
  if (method === 'NodeStageVolume' && stagingTargetPath) await mkdir(stagingTargetPath, { recursive: true });
  if (method === 'NodePublishVolume' && targetPath) await mkdir(dirname(targetPath), { recursive: true });
}
