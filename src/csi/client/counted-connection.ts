// A connection to a driver that several sidecars share, with the calls of one of them counted as that sidecar's own.

import type { Clock } from '../../runtime/ports.ts';
import { grpcCodes } from '../../wire/grpc/grpc-code.ts';
import { methodPath } from '../../wire/grpc/method-path.ts';
import { CsiError } from '../csi-error.ts';
import type { CsiConnection } from './connect-csi.ts';
import { observedConnection } from './observed-connection.ts';
import type { OperationMetrics } from './operation-metrics.ts';

export function countedConnection(
  connection: CsiConnection,
  metrics: OperationMetrics,
  clock: Clock,
): CsiConnection {
  return observedConnection(connection, (method) => {
    const startMs = clock.monotonicMs();
    return (error) =>
      metrics.observe({
        path: methodPath(method),
        rawCode: codeOf(error),
        seconds: (clock.monotonicMs() - startMs) / 1000,
      });
  });
}

function codeOf(error: unknown): number {
  if (error === undefined) return grpcCodes.OK;
  return error instanceof CsiError ? error.rawCode : grpcCodes.UNKNOWN;
}
