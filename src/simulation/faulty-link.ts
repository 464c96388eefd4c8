// The connection of one process to a driver: a call can be lost before or after it took effect, arrive twice, be refused
// with any code, be slow, or kill its caller. A call that arrives is carried out even if its caller has given up, as
// drivers do that ignore their context.

import type { CsiCallOptions, CsiTransport } from '../csi/client/transport.ts';
import { CsiError } from '../csi/csi-error.ts';
import { outcomes } from '../csi/outcome.ts';
import type { Clock, Random } from '../runtime/ports.ts';
import { onAbort } from '../runtime/time/on-abort.ts';
import { type GrpcCode, grpcCodes } from '../wire/grpc/grpc-code.ts';
import { create } from '../wire/protobuf/create.ts';
import type { DescMessage, DescMethodUnary, MessageInitShape } from '../wire/protobuf/descriptor.ts';
import { callFacts } from './call-facts.ts';
import type { Faults } from './faults.ts';
import type { CallFacts, History } from './history.ts';
import { never, type SimProcess } from './sim-process.ts';

/** The driver's end of the connection. */
export interface DriverEnd {
  readonly name: string;
  isDown(): boolean;
  transport(): CsiTransport;
  /** How long the storage takes for this call. */
  pace(call: CallFacts, ms: number): void;
  /** Whether the call may have taken effect already, or still may: a final refusal would be a lie. */
  mayBeDone(call: CallFacts): boolean;
}

export interface CsiLink {
  driver: DriverEnd;
  /** The node that the call comes from, for node services. */
  node: string;
  /** How often that node rebooted. */
  boots(): number;
  process: SimProcess;
  clock: Clock;
  random: Random;
  faults: Faults;
  history: History;
  nextId(): number;
  crash(): void;
}

/** Long enough for any deadline of a component to pass first. */
const NO_DEADLINE_MS = 3_600_000;
const READS = /^(Get|List|Probe|Validate|NodeGet|ControllerGet|GroupControllerGet)/;
/** Those that faults strike as well. The others are made at the start, where a failure is only repeated. */
const STRUCK_READS = /^(List|GetSnapshot|GetVolumeGroupSnapshot)/;

export function faultyLink(link: CsiLink): CsiTransport {
  const { process, clock, random, faults, history } = link;
  const strikes = faults.csi(process.name);

  function failure(facts: CallFacts, code: GrpcCode, message: string): CsiError {
    return new CsiError({ code, message, method: facts.method, address: link.driver.name });
  }

  async function call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    options: CsiCallOptions,
  ) {
    if (!process.alive) return never<never>();
    const reads = READS.test(method.name);
    const request = create(method.input, init);
    const facts = callFacts(method, request, link.driver.name, link.node);
    const id = link.nextId();
    const actor = process.name;
    if (process.stopping && !reads) {
      history.violate(
        'acts-after-stop',
        `${actor} was told to stop and called ${facts.method} ${facts.volume}`,
      );
    }
    if (options.signal?.aborted) throw failure(facts, 'CANCELLED', 'given up');
    const note = (entry: { kind: 'call' | 'delivered' } | { kind: 'returned'; code: string }): void => {
      if (!reads) history.add({ ...entry, id, actor, call: facts } as never);
    };
    note({ kind: 'call' });
    const fault = reads && !STRUCK_READS.test(method.name) ? undefined : strikes(method.name);

    const paceMs = (): number => {
      if (fault === 'csi-past-deadline') return options.timeoutMs + 500 + random.int(20_000);
      return fault === 'csi-slow' ? 500 + random.int(9_000) : 1 + random.int(20);
    };
    const boots = link.boots();
    const deliver = (): Promise<unknown> => {
      // A call within a machine does not outlive a reboot of it.
      if (link.boots() !== boots) return never();
      if (link.driver.isDown()) return Promise.reject(failure(facts, 'UNAVAILABLE', 'no connection'));
      note({ kind: 'delivered' });
      link.driver.pace(facts, paceMs());
      return link.driver.transport().call(method, request as never, { timeoutMs: NO_DEADLINE_MS });
    };
    const answer = async (): Promise<unknown> => {
      await clock.sleep(1 + random.int(5));
      switch (fault) {
        case 'csi-crash-before':
          link.crash();
          return never();
        case 'csi-lost-before':
          return random.next() < 0.5
            ? never()
            : Promise.reject(failure(facts, 'UNAVAILABLE', 'connection lost'));
        case 'csi-refused':
          return Promise.reject(failure(facts, refusal(link.driver, facts, random), 'refused'));
        case 'csi-duplicated': {
          const first = deliver();
          deliver().catch(() => {});
          return first;
        }
        case 'csi-lost-after': {
          const isSilent = random.next() < 0.5;
          await deliver().catch(() => {});
          return isSilent ? never() : Promise.reject(failure(facts, 'UNAVAILABLE', 'connection lost'));
        }
        case 'csi-crash-after':
          await deliver().catch(() => {});
          link.crash();
          return never();
        default:
          return deliver();
      }
    };

    return new Promise<never>((resolve, reject) => {
      let isOver = false;
      const settle = (code: string, tell: () => void): void => {
        if (isOver) return;
        isOver = true;
        timer.cancel();
        stopListening?.();
        if (!process.alive) return;
        process.notice(() => {
          note({ kind: 'returned', code });
          tell();
        });
      };
      const fail = (error: CsiError): void => settle(error.code, () => reject(error));
      const timer = clock.setTimeout(
        () => fail(failure(facts, 'DEADLINE_EXCEEDED', 'deadline exceeded')),
        options.timeoutMs,
      );
      const stopListening =
        options.signal && onAbort(options.signal, () => fail(failure(facts, 'CANCELLED', 'given up')));
      answer().then(
        (response) => settle('OK', () => resolve(response as never)),
        (error: unknown) =>
          fail(error instanceof CsiError ? error : failure(facts, 'INTERNAL', String(error))),
      );
    });
  }

  return { call };
}

/** Any code that is not a lie: a final one claims that nothing was done and nothing is under way. */
function refusal(driver: DriverEnd, call: CallFacts, random: Random): GrpcCode {
  const row = outcomes[call.method as keyof typeof outcomes];
  const isOpen = driver.mayBeDone(call);
  const codes = (Object.keys(grpcCodes) as GrpcCode[]).filter((code) => {
    if (code === 'OK' || code === 'CANCELLED' || row === undefined) return false;
    return row[code].outcome === 'maybe-in-progress' || (!isOpen && row[code].outcome === 'final');
  });
  return codes[random.int(codes.length)] ?? 'UNAVAILABLE';
}
