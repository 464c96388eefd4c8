// Faults between a driver and its callers, as an interceptor of the proxy. The proxy can stop no process: `crash caller` closes
// the caller's connection, which is what the caller would notice of a crash of the driver.

import type { ProxyInterceptor } from '../proxy/proxy-interceptor.ts';
import type { Clock } from '../runtime/ports.ts';
import type { ActiveFaults } from './active-faults.ts';
import { disturbCall } from './disturb-call.ts';
import type { Fault } from './fault.ts';
import { FaultError } from './parse-fault.ts';
import { requestFacts } from './request-facts.ts';

/** The one component that a proxy can crash, as far as it can. */
export const CALLER = 'caller';

export function faultInterceptor(
  faults: ActiveFaults,
  { clock, address }: { clock: Clock; address: string },
): ProxyInterceptor {
  return async (call, next) => {
    const { method } = call;
    if (method === undefined) return next();
    const about = requestFacts(call.request, undefined);
    const struck = faults.strike({ method: method.name, driver: undefined, by: [CALLER], ...about });
    if (struck === undefined) return next();
    // A stream is passed on as it comes and cannot be sent twice.
    if (struck.fault.action.fault === 'csi-duplicated' && method.methodKind !== 'unary') return next();
    return disturbCall(struck, {
      method: method.name,
      address,
      send: next,
      signal: call.signal,
      crash: () => call.disconnect(),
      clock,
    });
  };
}

/** What a proxy cannot do is refused. */
export function checkForProxy({ action, driver, node, call }: Fault): void {
  if ('component' in action && action.component !== CALLER) {
    throw new FaultError(
      `a proxy cannot stop ${action.component}: it knows no process. Write crash ${CALLER}, which closes the caller's ` +
        'connection, or lose-answer; to crash components, use `berth up` or `berth chaos run`',
    );
  }
  if (driver !== undefined) throw new FaultError('a proxy has one driver: leave out driver=');
  if (node !== undefined && !/^Controller(Unp|P)ublishVolume$|^Controller\*$|^\*$/.test(call)) {
    throw new FaultError(
      `a proxy does not know the node of ${call}: only ControllerPublishVolume and ControllerUnpublishVolume name one. ` +
        "Set the fault at the proxy of that node's driver",
    );
  }
}
