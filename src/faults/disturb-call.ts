// Does to one call what the fault that struck it says. The same for a proxy and for a client inside the cluster: they differ in
// how a call is sent, failed and crashed.

import { CsiError } from '../csi/csi-error.ts';
import type { Clock } from '../runtime/ports.ts';
import { aborted } from '../runtime/time/until-aborted.ts';
import type { GrpcCode } from '../wire/grpc/grpc-code.ts';
import type { ActiveFault } from './active-faults.ts';
import { formatFault } from './fault.ts';

export interface DisturbedCall<T> {
  readonly method: string;
  /** Where the driver listens. */
  readonly address: string;
  /** To the driver. Each further use sends it once more. */
  send(): Promise<T>;
  /** Aborts when the caller has given up, which includes the end of its deadline. */
  readonly signal: AbortSignal;
  /** Ends the component or the driver; the caller gets no answer. */
  crash(component: string): void;
  readonly clock: Clock;
}

export async function disturbCall<T>({ id, fault }: ActiveFault, call: DisturbedCall<T>): Promise<T> {
  const { action } = fault;
  const named = `a fault that was set on purpose (${id}: ${formatFault(fault)})`;
  const failure = (code: GrpcCode, text: string, uncertain = false): CsiError =>
    new CsiError({
      code,
      message: `${text}: ${named}`,
      method: call.method,
      address: call.address,
      uncertain,
    });
  /** Only the caller's own deadline, or its end, ends this. */
  const silence = async (): Promise<T> => {
    await aborted(call.signal);
    throw failure('CANCELLED', 'the caller has given up', true);
  };
  switch (action.fault) {
    case 'csi-refused':
      throw failure(action.code, 'refused');
    case 'csi-lost-before':
      if (action.isSilent) return silence();
      throw failure('UNAVAILABLE', 'the request was lost', true);
    case 'csi-lost-after':
      await call.send().catch(() => {});
      if (action.isSilent) return silence();
      throw failure('UNAVAILABLE', 'the answer was lost', true);
    case 'csi-duplicated': {
      const first = call.send();
      call.send().catch(() => {});
      return first;
    }
    case 'csi-slow': {
      const answer = call.send();
      answer.catch(() => {});
      await call.clock.sleep(action.delayMs, call.signal);
      return answer;
    }
    case 'csi-past-deadline':
      await call.send().catch(() => {});
      return silence();
    case 'csi-crash-before':
    case 'csi-crash-after':
      if (action.fault === 'csi-crash-after') await call.send().catch(() => {});
      call.crash(action.component);
      if (action.component !== 'driver') return silence();
      throw failure('UNAVAILABLE', 'the driver crashed', true);
  }
}
