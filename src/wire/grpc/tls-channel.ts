// The client's socket and headers for a gRPC server that is reached over TCP with TLS. The server must speak HTTP/2 by ALPN
// and present a certificate for its host name.

import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import type { CallOrigin } from './client-call.ts';

export interface TlsTarget {
  readonly host: string;
  readonly port: number;
  /** PEM; the system's authorities unless given. */
  readonly ca?: string | Buffer;
}

export function connectTls({ host, port, ca }: TlsTarget): TLSSocket {
  const socket = connect({
    host,
    port,
    ...(ca !== undefined && { ca }),
    // An address is not a valid server name; the certificate is checked against it all the same.
    ...(isIP(host) === 0 && { servername: host }),
    ALPNProtocols: ['h2'],
  });
  socket.once('secureConnect', () => {
    if (socket.alpnProtocol !== 'h2') socket.destroy(new Error('the server does not speak HTTP/2 over TLS'));
  });
  return socket;
}

export function tlsOrigin({ host, port }: TlsTarget): CallOrigin {
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    scheme: { name: ':scheme', value: 'https' },
    authority: { name: ':authority', value: `${name}:${port}` },
  };
}
