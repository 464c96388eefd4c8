// gRPC services on a TCP port with TLS. The certificate comes from files and is read again when they change.

import type { Server } from 'node:tls';
import { grpcServer } from '../../wire/grpc/grpc-server.ts';
import { tlsListener } from '../../wire/grpc/tls-listener.ts';
import { type CallHandlerOptions, callHandler } from './call-handler.ts';
import { drainWithin } from './drain-within.ts';
import { type CertificateFiles, type TlsSettings, watchCertificate } from './watch-certificate.ts';

export interface ServeOverTlsOptions extends CallHandlerOptions {
  /** All addresses unless given. */
  host?: string;
  /** 0: any that is free. */
  port: number;
  files: CertificateFiles;
  settings?: TlsSettings;
  /** Of a request. */
  maxMessageBytes: number;
}

export interface TlsServer {
  readonly port: number;
  /** Accepts no more calls, lets those under way end, and after `graceMs` cuts off what is left. */
  stop(graceMs: number): Promise<void>;
}

/** Rejects when the certificate cannot be used or the port is taken. */
export async function serveOverTls(options: ServeOverTlsOptions): Promise<TlsServer> {
  const { files, settings = {}, host, log, clock, maxMessageBytes } = options;
  let listener: Server | undefined;
  const watched = await watchCertificate(files, { log, clock }, (certificate) =>
    listener?.setSecureContext({ ...settings, ...certificate }),
  );
  const where = `${host ?? ''}:${options.port}`;
  const server = grpcServer({
    clock,
    maxMessageBytes,
    listener: (take) => {
      listener = tlsListener({ ...settings, ...watched.first }, take);
      return listener;
    },
    handle: callHandler(options),
    onTooMany: (count) =>
      log.warn('connections were closed at once, because too many are open', { address: where, count }),
  });
  try {
    const port = await server.listen({ ...(host !== undefined && { host }), port: options.port });
    return {
      port,
      async stop(graceMs) {
        watched.stop();
        await drainWithin(graceMs, { server, address: where, log, clock });
      },
    };
  } catch (error) {
    watched.stop();
    throw new Error(`cannot listen on ${where}: ${(error as Error).message}`, { cause: error });
  }
}
