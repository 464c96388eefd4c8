// A driver's connection as one component of a cluster has it: its calls can be struck by faults. While no fault is set, calls
// are passed on as they are.

import type { CsiConnection } from '../csi/client/connect-csi.ts';
import { CsiError } from '../csi/csi-error.ts';
import type { Clock } from '../runtime/ports.ts';
import { startDeadline } from '../runtime/time/deadline.ts';
import { untilAborted } from '../runtime/time/until-aborted.ts';
import type { ActiveFault, ActiveFaults } from './active-faults.ts';
import { disturbCall } from './disturb-call.ts';
import type { FaultableCall } from './fault.ts';
import { CALLS } from './parse-fault.ts';
import { requestFacts } from './request-facts.ts';

export interface FaultyCaller {
  readonly faults: ActiveFaults;
  readonly driver: string | undefined;
  readonly by: readonly string[];
  /** The node that the component runs on. */
  readonly node?: string | undefined;
  /** Aborts when the component is dead. */
  readonly dead: AbortSignal;
  crash(component: string, address: string): void;
  readonly clock: Clock;
}

const KNOWN: ReadonlySet<string> = new Set(CALLS);

export function faultyConnection(connection: CsiConnection, caller: FaultyCaller): CsiConnection {
  const { faults, clock, dead } = caller;
  const { address } = connection;
  /** Undefined for most calls, and for those that are not of CSI: registration goes over such connections, too. */
  const strike = (method: string, request: object): ActiveFault | undefined => {
    if (faults.isIdle || !KNOWN.has(method)) return undefined;
    const { driver, by, node } = caller;
    const call: FaultableCall = { method, driver, by, ...requestFacts(request, node) };
    return faults.strike(call);
  };
  const disturb = async <T>(
    struck: ActiveFault,
    method: string,
    options: { timeoutMs: number; signal?: AbortSignal },
    send: () => Promise<T>,
  ): Promise<T> => {
    const { timeoutMs } = options;
    const deadline = startDeadline({
      clock,
      delayMs: timeoutMs,
      reason: () =>
        new CsiError({
          code: 'DEADLINE_EXCEEDED',
          message: `no answer, because of a fault that was set on purpose (${struck.id})`,
          method,
          address,
          timeoutMs,
          uncertain: true,
        }),
      parent: options.signal ? AbortSignal.any([options.signal, dead]) : dead,
    });
    const crash = (component: string): void => caller.crash(component, address);
    const { signal } = deadline;
    const answer = disturbCall(struck, { method, address, send, signal, crash, clock });
    answer.catch(() => {});
    try {
      return await untilAborted(answer, signal);
    } catch (error) {
      if (error instanceof CsiError || !signal.aborted) throw error;
      throw new CsiError({
        code: 'CANCELLED',
        message: `given up: ${(error as Error).message}`,
        method,
        address,
        uncertain: true,
        cause: error,
      });
    } finally {
      deadline.cancel();
    }
  };
  return {
    address,
    get state() {
      return connection.state;
    },
    onStateChange: connection.onStateChange,
    waitForReady: connection.waitForReady,
    close: connection.close,
    call(method, request, options) {
      const struck = strike(method.name, request);
      const send = () => connection.call(method, request, options);
      return struck === undefined ? send() : disturb(struck, method.name, options, send);
    },
    async *stream(method, request, options) {
      const struck = strike(method.name, request);
      if (struck === undefined || struck.fault.action.fault === 'csi-duplicated') {
        yield* connection.stream(method, request, options);
        return;
      }
      // A stream that is struck is read to its end first: what happens to an answer happens to all of it.
      const read = () => Array.fromAsync(connection.stream(method, request, options));
      yield* await disturb(struck, method.name, options, read);
    },
  };
}
