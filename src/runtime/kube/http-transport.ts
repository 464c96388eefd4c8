// Bytes to and from one API server: a pool of connections for requests and one for watches, both in HTTP/1.1. On a shared
// HTTP/2 connection one slow reader would use up the flow-control window of all, and one lost connection would break
// every watch at once; for requests it measured no faster on kube-apiserver. Knows nothing of Kubernetes.

import { createSecureContext, type SecureContext } from 'node:tls';
import { GrowingBuffer } from '../../wire/growing-buffer.ts';
import type { ConnectionTimeouts, Exchange, Flow } from '../../wire/http1/connection.ts';
import { ConnectionPool } from '../../wire/http1/connection-pool.ts';
import type { SocketTarget } from '../../wire/http1/open-socket.ts';
import { type BodyEncoding, type RequestHeaders, requestText } from '../../wire/http1/request-text.ts';
import { realClock } from '../time/clock.ts';
import { onAbort } from '../time/on-abort.ts';
import type { TlsMaterial } from './credentials.ts';
import type { TlsConfig } from './kube-config.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: RequestHeaders;
  readonly body?: string;
  /** With latin1 each character of the body is a byte; utf8 unless told. */
  readonly bodyEncoding?: BodyEncoding;
  readonly tls: TlsMaterial;
  readonly signal?: AbortSignal;
  /** Of the answer's body; 32 MiB unless told. Streams have no limit. */
  readonly maxBodyBytes?: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** What a stream tells, in this order; after `ended` or `failed` nothing more. */
export interface StreamSink {
  started(answer: HttpAnswer, flow: Flow): void;
  chunk(bytes: Buffer): void;
  ended(): void;
  failed(error: Error): void;
}

export interface HttpTransport {
  request(request: HttpRequest): Promise<HttpAnswer & { body: Buffer }>;
  /** Returns how to break it off. */
  stream(request: HttpRequest, sink: StreamSink): (reason: Error) => void;
  close(): Promise<void>;
}

export interface TransportOptions {
  origin: string;
  tls: TlsConfig;
  /** A TCP and TLS handshake that takes longer will not succeed. */
  connectTimeoutMs?: number;
  /** The server's own limit for a request is 60 s. */
  headersTimeoutMs?: number;
  /** Silence in the middle of an answer. */
  bodyTimeoutMs?: number;
}

/** For requests. Concurrency is limited above this file. */
const MAX_CONNECTIONS = 128;
/** Go's servers close after 90 s, or say when. */
const IDLE_MS = 60_000;
const READ_BYTES = 64 << 10;
/** Ten times the largest object that etcd takes, and more than the largest document of discovery. */
const MAX_BODY_BYTES = 32 << 20;

interface Pools {
  readonly tls: TlsMaterial;
  readonly requests: ConnectionPool;
  readonly watches: ConnectionPool;
}

export function createHttpTransport(options: TransportOptions): HttpTransport {
  const { protocol, hostname, port, host } = new URL(options.origin);
  const timeouts: ConnectionTimeouts = {
    connectMs: options.connectTimeoutMs ?? 10_000,
    answerMs: options.headersTimeoutMs ?? 75_000,
    silenceMs: options.bodyTimeoutMs ?? 60_000,
    idleMs: IDLE_MS,
  };
  const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);
  let pools: Pools | undefined;
  /** All that still have connections, the ones of earlier certificates included. */
  const open = new Set<Pools>();

  function poolsFor(tls: TlsMaterial): Pools {
    if (pools?.tls === tls) return pools;
    const old = pools;
    pools = createPools(tls);
    open.add(pools);
    // New certificates: running requests end on the old connections, new ones start on new.
    if (old !== undefined) void retire(old);
    return pools;
  }

  async function retire(old: Pools): Promise<void> {
    await Promise.all([old.requests.retire(), old.watches.retire()]);
    open.delete(old);
  }

  function createPools(material: TlsMaterial): Pools {
    const secure = protocol === 'https:';
    const target: SocketTarget = {
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(port || (secure ? 443 : 80)),
      ...(secure && { tls: { context: secureContext(material, options.tls), ...options.tls } }),
    };
    // Sockets live in real time, whatever clock the client above them has.
    const shared = { clock: realClock, target, session: {}, readBuffer, timeouts };
    return {
      tls: material,
      requests: new ConnectionPool({ ...shared, maxConnections: MAX_CONNECTIONS }),
      watches: new ConnectionPool({ ...shared, maxConnections: Number.POSITIVE_INFINITY }),
    };
  }

  const textOf = ({ method, path, headers, body, bodyEncoding }: HttpRequest): string =>
    requestText({ method, path, host, headers, body, bodyEncoding });

  return {
    request(request) {
      const { signal, method } = request;
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const pool = poolsFor(request.tls).requests;
        let answer: HttpAnswer | undefined;
        const body = new GrowingBuffer();
        const exchange: Exchange = {
          method,
          text: textOf(request),
          encoding: request.bodyEncoding,
          streaming: false,
          maxBodyBytes: request.maxBodyBytes ?? MAX_BODY_BYTES,
          onHead(head) {
            answer = head;
          },
          onData(bytes) {
            body.append(bytes, 0, bytes.length);
          },
          onEnd() {
            stopListening?.();
            resolve({ ...(answer as HttpAnswer), body: body.take() });
          },
          onFailure(error) {
            stopListening?.();
            reject(error);
          },
        };
        const stopListening =
          signal &&
          onAbort(signal, () => {
            reject(signal.reason);
            pool.cancel(exchange, new Error('aborted'));
          });
        pool.send(exchange);
      });
    },

    stream(request, sink) {
      const pool = poolsFor(request.tls).watches;
      const exchange: Exchange = {
        method: request.method,
        text: textOf(request),
        streaming: true,
        maxBodyBytes: Number.POSITIVE_INFINITY,
        onHead: (head, flow) => sink.started(head, flow),
        onData: (bytes) => sink.chunk(Buffer.from(bytes)),
        onEnd: () => sink.ended(),
        onFailure: (error) => sink.failed(error),
      };
      pool.send(exchange);
      return (reason) => pool.cancel(exchange, reason);
    },

    async close() {
      await Promise.all(
        [...open].flatMap(({ requests, watches }) => [requests.destroy(), watches.destroy()]),
      );
    },
  };
}

/** Without verification no CA is needed: an empty list keeps Node from loading all that it knows. */
function secureContext(material: TlsMaterial, { insecureSkipVerify }: TlsConfig): SecureContext {
  return createSecureContext(insecureSkipVerify ? { ...material, ca: [] } : material);
}
