// A gRPC server's listener on a TCP port with TLS. Clients must speak HTTP/2 by ALPN, as gRPC requires.

import type { Socket } from 'node:net';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';

/** As long as a gRPC client waits for a connection; Node's own limit is two minutes. */
const HANDSHAKE_MS = 20_000;
/** Until the system asks whether a silent peer is still there. */
const KEEP_ALIVE_MS = 60_000;

/** `setSecureContext` of the server renews the certificate for later connections. */
export function tlsListener(options: SecureContextOptions, take: (socket: Socket) => void): Server {
  const settings = { ...options, ALPNProtocols: ['h2'], handshakeTimeout: HANDSHAKE_MS };
  return createServer(settings, (socket: TLSSocket) => {
    if (socket.alpnProtocol !== 'h2') {
      socket.destroy();
      return;
    }
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    take(socket);
  });
}
