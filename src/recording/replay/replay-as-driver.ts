// A recording in the place of the driver: every call is answered as the corresponding recorded call was, with the recorded
// latency if wanted. A call that was never answered is not answered now either. Nothing is stored.

import { CsiError } from '../../csi/csi-error.ts';
import { csiServices } from '../../csi/names/csi-methods.ts';
import type { ServiceImplementation } from '../../csi/server/service-implementation.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { CallContext } from '../../wire/grpc/call-context.ts';
import type { DescMethod, Message } from '../../wire/protobuf/descriptor.ts';
import type { RecordedCall, Recording } from '../read-recording.ts';
import { CallAligner } from './align-calls.ts';
import { compareMessages } from './compare-messages.ts';
import { isRead, kindOf, replacer, rewritten, subjectOf } from './identifiers.ts';
import { identityAnswers } from './identity-answers.ts';
import type { CallDifference, ReplayReport } from './replay-report.ts';

export interface ReplayAsDriverOptions {
  clock: Clock;
  /** Answers as late as the driver did; otherwise at once. */
  keepsTiming: boolean;
  /** Of the driver, if the recording has no GetPluginInfo. */
  driverName?: string;
  /** Before a call that succeeded is answered, with the caller's own request. */
  perform?(method: DescMethod, request: Message): Promise<void>;
  /** After each call that was answered: how many recorded calls that change something are still to be asked for. */
  onProgress?(left: number): void;
}

export interface ReplayedDriver {
  readonly services: readonly ServiceImplementation[];
  report(): ReplayReport;
}

const REPEATED = 'repeated more often than recorded';
const UNREACHED = 'not reached: nobody asked about their objects';

export function replayAsDriver(recording: Recording, options: ReplayAsDriverOptions): ReplayedDriver {
  const { clock, keepsTiming } = options;
  const aligner = new CallAligner(recording.calls);
  const differences: CallDifference[] = [];
  /** Calls without a counterpart are told once, however often a sidecar repeats them. */
  const told = new Set<string>();
  let same = 0;
  let repeated = 0;
  const derived = identityAnswers(recording, options.driverName);

  async function answer(method: DescMethod, request: Message, context: CallContext): Promise<object> {
    const fixed = derived.get(method.name);
    if (fixed) return fixed;
    const { recorded, isRepeated, request: named } = aligner.take(method, request);
    if (recorded?.answer === undefined) return refuse(method, named);
    if (!isRepeated) compare(recorded, { method, named });
    else if (!isRead(method)) repeated += 1;
    options.onProgress?.(aligner.left);
    const { code, rawCode, text, details, isLost, response, atMs } = recorded.answer;
    if (keepsTiming) await clock.sleep(atMs - recorded.atMs, context.signal);
    if (isLost && (code === 'CANCELLED' || code === 'DEADLINE_EXCEEDED')) return untilGivenUp(context);
    if (code !== 'OK') throw new CsiError({ code: rawCode, message: text, ...(details && { details }) });
    await options.perform?.(method, request);
    if (response === undefined) {
      throw new CsiError({
        code: 'UNAVAILABLE',
        message: `call ${recorded.id} was answered, but its answer is not in the recording: it was too large`,
      });
    }
    return inLiveNames(method, request, response);
  }

  function compare(recorded: RecordedCall, { method, named }: { method: DescMethod; named: Message }): void {
    const fields = recorded.request
      ? compareMessages(
          method.input,
          { recorded: recorded.request, now: named },
          { knows: () => true, ignorePaths: true },
        )
      : [];
    if (fields.length === 0) same += 1;
    else
      differences.push({ call: recorded.id, method: method.name, subject: subjectOf(method, named), fields });
  }

  function refuse(method: DescMethod, named: Message): never {
    const subject = subjectOf(method, named);
    const key = `${method.name} ${subject}`;
    if (!told.has(key)) {
      told.add(key);
      const fields = [{ field: 'request', recorded: undefined, now: 'asked for' }];
      differences.push({ method: method.name, subject, fields });
    }
    throw new CsiError({
      code: 'UNAVAILABLE',
      message: `the recording has no ${method.name}${subject === '' ? '' : ` for ${subject}`}, so nobody knows what the driver would answer`,
    });
  }

  /** The recorded answer in the caller's own names. */
  function inLiveNames(method: DescMethod, request: Message, response: Message): Message {
    const replace = replacer(aligner.textPairs(method, request));
    return rewritten(method.output, response, (text, { schema, field }) => {
      const kind = kindOf(schema, field);
      if (kind) return aligner.liveOf(kind, text) ?? text;
      return replace(text);
    });
  }

  return {
    services: csiServices.map((service) => ({
      service,
      handlers: Object.fromEntries(
        service.methods
          .filter(({ methodKind }) => methodKind === 'unary')
          .map((method) => [
            method.localName,
            (request: Message, context: CallContext) => answer(method, request, context),
          ]),
      ),
    })),
    report() {
      const unasked = aligner.unasked();
      const unreached = unasked.filter(({ isReached }) => !isReached).length;
      const missing = unasked
        .filter(({ isReached }) => isReached)
        .map(({ call }) => ({
          call: call.id,
          method: call.method?.name ?? call.path,
          subject: call.method ? subjectOf(call.method, call.request) : '',
          fields: [{ field: 'request', recorded: 'asked for', now: undefined }],
        }));
      return {
        recording: recording.path,
        as: 'driver',
        calls: recording.calls.length,
        same,
        differences: [...differences, ...missing],
        left: {
          ...(repeated > 0 && { [REPEATED]: repeated }),
          ...(unreached > 0 && { [UNREACHED]: unreached }),
        },
        notes: recording.isCutShort
          ? ['the recording was cut short; it was read up to its last whole line']
          : [],
      };
    },
  };
}

function untilGivenUp({ signal }: CallContext): Promise<never> {
  return new Promise((_, reject) => {
    const give = (): void => reject(new CsiError({ code: 'CANCELLED', message: 'given up, as recorded' }));
    if (signal.aborted) give();
    else signal.addEventListener('abort', give, { once: true });
  });
}
