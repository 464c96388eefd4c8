// The HTTPS door: authenticates each request, counts it, and hands it to the handler for its path. Owns the TLS server, its
// time-outs and its certificate; nothing that a client sends or fails to send may stop the server.

import { type IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import {
  type AddressInfo,
  createServer as createNetServer,
  type Server as NetServer,
  type Socket,
} from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Timer } from '../../runtime/ports.ts';
import type { PathHandler } from '../../runtime/process/path-handler.ts';
import { type ConnectionLimit, limitConnections } from '../../wire/limit-connections.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { impersonate } from '../auth/impersonation.ts';
import type { Pki } from '../auth/pki.ts';
import type { User } from '../pipeline.ts';
import type { Machine } from '../verbs/request.ts';
import { badRequest } from '../verbs/status.ts';
import { answerError } from './answer.ts';
import { BodyReader } from './body-reader.ts';
import { ClientQuota, quotaOf } from './client-quota.ts';
import { createDocuments, type OpenDocuments } from './documents.ts';
import { FairQueue } from './fair-queue.ts';
import { handleOther } from './handle-other.ts';
import { handleResource } from './handle-resource.ts';
import { isConnect } from './kubelet/handle-connect.ts';
import { createKubeletClient, type KubeletClient } from './kubelet/kubelet-client.ts';
import type { Upgrade } from './kubelet/kubelet-proxy.ts';
import { RequestMetrics } from './metrics.ts';
import { MAX_DEPTH } from './parse-body.ts';
import { readRequestInfo } from './request-info.ts';
import { labelsOf } from './request-labels.ts';
import { createYamlConverter, type YamlConverter } from './yaml/yaml-converter.ts';

export interface HttpsDoorOptions {
  machine: Machine;
  authenticator: Authenticator;
  pki: Pki;
  host: string;
  port: number;
  /** Why the server is not ready; undefined when it is. */
  unready(): string | undefined;
  /** Handlers of paths beyond Kubernetes' own, subject to RBAC. */
  paths?: Readonly<Record<string, PathHandler>>;
  limits: DoorLimits;
}

/** One client can have a quarter of each. */
export interface DoorLimits {
  readonly maxConnections: number;
  readonly maxWatches: number;
}

/** Each watch takes a connection: watches of all clients leave some for other requests. */
export const defaultDoorLimits: DoorLimits = { maxConnections: 10_000, maxWatches: 8_000 };

/** State that all requests share. */
interface Door extends HttpsDoorOptions {
  readonly metrics: RequestMetrics;
  readonly documents: OpenDocuments;
  readonly bodies: BodyReader;
  readonly yaml: YamlConverter;
  readonly fair: FairQueue;
  readonly kubelet: KubeletClient;
  readonly watches: ClientQuota;
  readonly connections: ClientQuota;
}

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
  const door: Door = {
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

async function exchange(
  door: Door,
  message: IncomingMessage,
  response: ServerResponse,
  upgrade: Upgrade | undefined,
): Promise<void> {
  const { machine, metrics } = door;
  // The client has disconnected: there is nobody to answer.
  response.on('error', () => {});
  const info = readRequestInfo(message.url ?? '/');
  const pretty = info?.query.get('pretty') === 'true' || info?.query.get('pretty') === '1';
  const labels = labelsOf(machine.registry, message, info);
  const over = metrics.start(labels, {
    longRunning: labels.verb === 'WATCH' || (info?.target.kind === 'resource' && isConnect(info.target)),
    mutating: !['GET', 'LIST', 'WATCH', 'HEAD'].includes(labels.verb),
  });
  response.on('close', () => over(response.statusCode));
  try {
    if (info === undefined) throw badRequest('the path is not properly encoded');
    const { user, client } = userOf(door, message);
    const asked = { message, response, info, user, client, pretty };
    if (info.target.kind === 'resource')
      await handleResource({ ...door, ...asked, upgrade, path: info.target });
    else await handleOther({ ...door, ...asked });
  } catch (error) {
    if (!(error instanceof KubeError)) {
      machine.log.error('a request failed', error, { method: message.method, path: info?.path });
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    // Anything more that the client sends would be parsed as the next request. A connection that counts for nobody ends.
    if (!message.complete || !counted.has(message.socket)) response.setHeader('Connection', 'close');
    answerError(response, error, pretty);
    if (!message.complete) message.resume();
  }
}

/** Connections that count for a client. */
const counted = new WeakSet<Socket>();

/** A connection counts for the client of its first request. */
function countConnection({ connections }: Door, socket: Socket, client: string): void {
  if (counted.has(socket)) return;
  const giveBack = connections.take(client);
  counted.add(socket);
  if (socket.destroyed) giveBack();
  else socket.once('close', giveBack);
}

const certificates = new WeakMap<TLSSocket, { raw?: Uint8Array }>();

/** The user that is authorized, and the one whose limits count. */
function userOf(door: Door, message: IncomingMessage): { user: User; client: string } {
  const { authenticator, machine } = door;
  const socket = message.socket as TLSSocket;
  // Decoding the certificate costs more than the rest of a small request: once per connection.
  let peerCertificate = certificates.get(socket);
  if (peerCertificate === undefined) {
    const raw = socket.getPeerX509Certificate()?.raw;
    peerCertificate = raw === undefined ? {} : { raw };
    certificates.set(socket, peerCertificate);
  }
  const verdict = authenticator.authenticate({
    peerCertificate,
    authorizationHeader: message.headers.authorization,
  });
  if ('error' in verdict) throw verdict.error;
  const { user } = verdict;
  countConnection(door, socket, user.name);
  const impersonates = message.rawHeaders.some((text) => /^impersonate-/i.test(text));
  const client = user.name;
  if (!impersonates) return { user, client };
  const { authorizer } = machine;
  return { user: impersonate({ user, headers: message.headersDistinct, authorizer }), client };
}
