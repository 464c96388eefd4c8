// A connection to a driver that several sidecars share, with the calls of one of them counted as that sidecar's own.

import type { Clock } from '../../runtime/ports.ts';
import { grpcCodes } from '../../wire/grpc/grpc-code.ts';
import { methodPath } from '../../wire/grpc/method-path.ts';
import { CsiError } from '../csi-error.ts';
import type { CsiConnection } from './connect-csi.ts';
import type { OperationMetrics } from './operation-metrics.ts';
import { withCall } from './with-call.ts';

export function countedConnection(
  connection: CsiConnection,
  metrics: OperationMetrics,
  clock: Clock,
): CsiConnection {
  return withCall(connection, async (method, request, options) => {
    const startMs = clock.monotonicMs();
    const observe = (rawCode: number): void =>
      metrics.observe({
        path: methodPath(method),
        rawCode,
        seconds: (clock.monotonicMs() - startMs) / 1000,
      });
    try {
      const response = await connection.call(method, request, options);
      observe(grpcCodes.OK);
      return response;
    } catch (error) {
      observe(error instanceof CsiError ? error.rawCode : grpcCodes.UNKNOWN);
      throw error;
    }
  });
}
