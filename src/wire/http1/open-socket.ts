// Opens one connection to a server, over TCP or TLS.

import { connect as connectTcp, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';

export interface SocketTarget {
  readonly host: string;
  readonly port: number;
  /** Shared by all connections: a context of its own would parse and keep the certificates again. */
  readonly tls?: {
    readonly context: SecureContext;
    /** What the certificate must be for, unless it is the host. */
    readonly serverName?: string | undefined;
    readonly insecureSkipVerify?: boolean | undefined;
  };
}

/** A session ticket of an earlier connection, to resume instead of a full handshake. */
export interface TlsSession {
  ticket?: Buffer;
}

/** TCP keep-alive finds a peer that vanished without closing. */
const PROBE_AFTER_MS = 15_000;

export function openSocket(options: {
  target: SocketTarget;
  session: TlsSession;
  onread: OnReadOpts;
  onReady: () => void;
}): Socket {
  const { target, session, onread, onReady } = options;
  const { host, port, tls } = target;
  const common = {
    host,
    port,
    onread,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
  };
  if (tls === undefined) return connectTcp(common, onReady);
  const socket = connectTls(
    {
      ...common,
      secureContext: tls.context,
      rejectUnauthorized: tls.insecureSkipVerify !== true,
      ALPNProtocols: ['http/1.1'],
      ...(tls.serverName ? { servername: tls.serverName } : {}),
      ...(session.ticket === undefined ? {} : { session: session.ticket }),
    },
    onReady,
  );
  socket.on('session', (ticket) => {
    session.ticket = ticket;
  });
  return socket;
}
