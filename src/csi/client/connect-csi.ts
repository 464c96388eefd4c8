// The client of a driver's unix socket.

import { connect } from 'node:net';
import { Channel } from '../../wire/grpc/channel.ts';
import { shortSocketPath, socketPath } from '../names/socket-path.ts';
import { type ConnectionOptions, type CsiConnection, grpcConnection } from './grpc-connection.ts';

export type { CsiConnection } from './grpc-connection.ts';

export interface ConnectCsiOptions extends ConnectionOptions {
  /** `unix:///path`, `unix:path` or `/path`. */
  address: string;
}

/** Nothing is sent yet: the first call, or `waitForReady`, connects. */
export function connectCsi(options: ConnectCsiOptions): CsiConnection {
  const address = socketPath(options.address);
  const { path, release } = shortSocketPath(address);
  const channel = new Channel({ connect: () => connect({ path }), clock: options.clock });
  return grpcConnection({ channel, address, onClose: release }, options);
}
