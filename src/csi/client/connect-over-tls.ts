// The client of a gRPC service over TCP with TLS, such as SnapshotMetadata.

import { Channel } from '../../wire/grpc/channel.ts';
import { connectTls, type TlsTarget, tlsOrigin } from '../../wire/grpc/tls-channel.ts';
import { type ConnectionOptions, type CsiConnection, grpcConnection } from './grpc-connection.ts';

/** Nothing is sent yet: the first call, or `waitForReady`, connects. */
export function connectOverTls(target: TlsTarget, options: ConnectionOptions): CsiConnection {
  const channel = new Channel({ connect: () => connectTls(target), clock: options.clock });
  const origin = tlsOrigin(target);
  return grpcConnection({ channel, address: origin.authority.value, origin }, options);
}
