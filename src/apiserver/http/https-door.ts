// The HTTPS door: owns the TLS server, its time-outs, its connections and its certificate, and hands each request to
// `exchange`. Nothing that a client sends or fails to send may stop the server.

import { type IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, createServer as createNetServer, type Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Timer } from '../../runtime/ports.ts';
import { type ConnectionLimit, limitConnections } from '../../wire/limit-connections.ts';
import type { Pki } from '../auth/pki.ts';
import type { Machine } from '../verbs/request.ts';
import { BodyReader } from './body-reader.ts';
import { ClientQuota, quotaOf } from './client-quota.ts';
import { createDocuments } from './documents.ts';
import { type DoorState, exchange } from './exchange.ts';
import { FairQueue } from './fair-queue.ts';
import { createKubeletClient } from './kubelet/kubelet-client.ts';
import type { Upgrade } from './kubelet/kubelet-proxy.ts';
import { RequestMetrics } from './metrics.ts';
import { MAX_DEPTH } from './parse-body.ts';
import { createYamlConverter } from './yaml/yaml-converter.ts';

export interface HttpsDoorOptions extends Pick<DoorState, 'machine' | 'authenticator' | 'unready' | 'paths'> {
  pki: Pki;
  host: string;
  port: number;
  limits: DoorLimits;
}

/** One client can have a quarter of each. */
export interface DoorLimits {
  readonly maxConnections: number;
  readonly maxWatches: number;
}

/** Each watch takes a connection: watches of all clients leave some for other requests. */
export const defaultDoorLimits: DoorLimits = { maxConnections: 10_000, maxWatches: 8_000 };

export interface HttpsDoor {
  readonly url: string;
  readonly port: number;
  /** Listens at the same port of another address, too; the certificate must cover it. */
  alsoListen(host: string): Promise<void>;
  /** Ends watches, finishes requests in flight, closes idle connections. */
  stop(): Promise<void>;
}

/** Idle connections are closed after this; longer than the 90 s that Go clients keep theirs. */
const IDLE_MS = 120_000;
/** Deadline for receiving a request. */
const REQUEST_MS = 60_000;
const HEADERS_MS = 20_000;
/** How often the serving certificate is checked. */
const CERTIFICATE_MS = 60_000;
const TLS = { minVersion: 'TLSv1.2' } as const;
/** Grace period of requests in flight when the server stops. */
const STOP_MS = 2_000;
/** Time for the last bytes of a response before connections are cut. */
const LINGER_MS = 100;
/** Deadline of the TLS handshake. */
const HANDSHAKE_MS = 10_000;

export async function openHttpsDoor(options: HttpsDoorOptions): Promise<HttpsDoor> {
  const { pki, host, port, machine, limits } = options;
  const door: DoorState = {
    ...options,
    metrics: new RequestMetrics(machine.clock),
    documents: createDocuments(machine.registry),
    bodies: new BodyReader(machine.clock),
    yaml: createYamlConverter(machine.clock, MAX_DEPTH),
    fair: new FairQueue(machine.clock),
    kubelet: createKubeletClient({ pki, clock: machine.clock }),
    watches: new ClientQuota('watches', quotaOf(limits.maxWatches)),
    connections: new ClientQuota('connections', quotaOf(limits.maxConnections)),
  };
  const { keyPem, certificatePem } = await pki.serving();
  const responses = new Set<ServerResponse>();
  const sockets = new Set<Duplex>();
  const server = createServer(
    {
      key: keyPem,
      cert: certificatePem,
      ca: pki.caPem,
      requestCert: true,
      // A client with no certificate, or one of another CA, gets a 401 or is anonymous; the handshake succeeds.
      rejectUnauthorized: false,
      ...TLS,
      ALPNProtocols: ['http/1.1'],
      keepAliveTimeout: IDLE_MS,
      requestTimeout: REQUEST_MS,
      headersTimeout: HEADERS_MS,
      handshakeTimeout: HANDSHAKE_MS,
      noDelay: true,
    },
    (message, response) => respond(message, response),
  );
  const respond = (message: IncomingMessage, response: ServerResponse, upgrade?: Upgrade): void => {
    responses.add(response);
    response.once('close', () => responses.delete(response));
    exchange(door, message, response, upgrade).catch((error: unknown) => {
      machine.log.error('an answer could not be given', error, { method: message.method });
      response.destroy();
    });
  };
  // Node hands over the connection; unless a kubelet takes it, it carries one ordinary answer.
  server.on('upgrade', (message: IncomingMessage, socket: TLSSocket, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(message);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    socket.once('close', () => response.emit('close'));
    response.once('finish', () => socket.end());
    respond(message, response, { socket, head });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // Of each address that is listened on.
  const limit: ConnectionLimit = {
    max: limits.maxConnections,
    clock: machine.clock,
    report: (count) =>
      machine.log.warn('connections were closed at once, because too many are open', {
        count,
        limit: limits.maxConnections,
      }),
  };
  limitConnections(server, limit);
  server.on('tlsClientError', (error) =>
    machine.log.v(4).info('TLS handshake failed', { error: error.message }),
  );
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    else socket.destroy();
  });
  await listen(server, port, host);
  const unfollow = followCertificate(server, options, certificatePem);
  const actual = (server.address() as AddressInfo).port;
  const doors: NetServer[] = [];
  const shownHost = host.includes(':') ? `[${host}]` : host;
  return {
    url: `https://${shownHost}:${actual}`,
    port: actual,
    async alsoListen(other) {
      const door = createNetServer((socket) => server.emit('connection', socket));
      limitConnections(door, limit);
      await listen(door, actual, other);
      doors.push(door);
    },
    async stop() {
      unfollow();
      for (const door of doors) door.close();
      await stop(server, { responses, sockets }, machine);
      await door.yaml.stop();
    },
  };
}

/** Uses the newest certificate for new connections. Returns a function that stops it. */
function followCertificate(server: Server, { pki, machine }: HttpsDoorOptions, first: string): () => void {
  const { clock, log } = machine;
  let current = first;
  let timer: Timer | undefined;
  const look = async (): Promise<void> => {
    try {
      const { keyPem: key, certificatePem: cert } = await pki.serving();
      if (cert === current) return;
      server.setSecureContext({ ...TLS, key, cert, ca: pki.caPem });
      current = cert;
      log.info('the serving certificate has changed; new connections get the new one');
    } catch (error) {
      log.error('the serving certificate could not be read again; the current one stays in use', error);
    }
  };
  const arm = (): void => {
    timer = clock.setTimeout(() => {
      void look();
      arm();
    }, CERTIFICATE_MS);
  };
  arm();
  return () => timer?.cancel();
}

function listen(server: NetServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: 1024 }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Sends the answers under way to their last byte, then closes all connections. */
async function stop(
  server: Server,
  { responses, sockets }: { responses: ReadonlySet<ServerResponse>; sockets: ReadonlySet<Duplex> },
  { clock }: Machine,
): Promise<void> {
  const cutOff = () => {
    for (const socket of sockets) socket.destroy();
  };
  const force = clock.setTimeout(cutOff, STOP_MS);
  await Promise.all(
    [...responses].map((response) => new Promise<void>((resolve) => response.once('close', () => resolve()))),
  );
  force.cancel();
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // The HTTP server does not close connections that never sent a request.
  const last = clock.setTimeout(cutOff, LINGER_MS);
  await closed;
  last.cancel();
}
