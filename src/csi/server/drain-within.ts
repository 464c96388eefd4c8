// Stops a gRPC server: calls under way may end within a grace period and are cut off after it.

import type { Clock, Log } from '../../runtime/ports.ts';
import type { GrpcServer } from '../../wire/grpc/grpc-server.ts';

export async function drainWithin(
  graceMs: number,
  {
    server,
    address,
    log,
    clock,
  }: { server: Pick<GrpcServer, 'drain' | 'cut' | 'underWay'>; address: string; log: Log; clock: Clock },
): Promise<void> {
  const drained = server.drain();
  const force = clock.setTimeout(() => {
    log.warn('calls still under way after the grace period are cut off', { address, calls: server.underWay });
    server.cut(new Error('the server stopped'));
  }, graceMs);
  await drained;
  force.cancel();
}
