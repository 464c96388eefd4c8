// The interceptors that every server has: a log of calls, and their duration in the metrics.

import type { Clock, Log } from '../../runtime/ports.ts';
import type { OperationMetrics } from '../client/operation-metrics.ts';
import { CsiError } from '../csi-error.ts';
import { messageText } from '../messages/message-text.ts';
import type { Interceptor } from './serve-call.ts';

/** Request and response at -v=5, failures at -v=2: the caller decides whether a failure matters. */
export function loggingInterceptor(log: Log, maxLogLength = -1): Interceptor {
  return async (call, next) => {
    const verbose = log.v(5);
    if (verbose.enabled) {
      verbose.info('CSI call received', {
        method: call.path,
        request: messageText(call.method.input, call.request, maxLogLength),
      });
    }
    try {
      const response = await next();
      if (verbose.enabled) {
        verbose.info('CSI call answered', {
          method: call.path,
          ...(response && { response: messageText(call.method.output, response, maxLogLength) }),
        });
      }
      return response;
    } catch (error) {
      const code = error instanceof CsiError ? error.code : 'INTERNAL';
      log.v(2).info('CSI call failed', { method: call.path, code, error: (error as Error).message });
      throw error;
    }
  };
}

export function metricsInterceptor(metrics: OperationMetrics, clock: Clock): Interceptor {
  return async (call, next) => {
    const startMs = clock.monotonicMs();
    const observe = (rawCode: number): void =>
      metrics.observe({ path: call.path, rawCode, seconds: (clock.monotonicMs() - startMs) / 1000 });
    try {
      const response = await next();
      observe(0);
      return response;
    } catch (error) {
      observe(error instanceof CsiError ? error.rawCode : 13);
      throw error;
    }
  };
}
