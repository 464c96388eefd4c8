// Bytes to and from one API server over undici: a pool for requests and one for watches, both in HTTP/1.1. On a shared
// HTTP/2 connection one slow reader would use up the flow-control window of all, and one lost connection would break
// every watch at once; for requests it measured no faster on kube-apiserver, and undici ends the process when an HTTP/2
// connection is closed too soon after a request was broken off (its issue 5936). Knows nothing of Kubernetes.

import { createRequire } from 'node:module';
import type { Pool as UndiciPool } from 'undici';
import type { TlsMaterial } from './credentials.ts';
import type { TlsConfig } from './kube-config.ts';

// The package's main file loads fetch, WebSocket and caches as well: 25 MB and 100 ms, where the pool alone costs half.
const Pool = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js') as typeof UndiciPool;

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
  readonly tls: TlsMaterial;
  readonly signal?: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** What a stream tells, in this order; after `ended` or `failed` nothing more. */
export interface StreamSink {
  started(answer: HttpAnswer, flow: { pause(): void; resume(): void }): void;
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

export function createHttpTransport(options: TransportOptions): HttpTransport {
  let pools: { tls: TlsMaterial; requests: UndiciPool; watches: UndiciPool } | undefined;
  /** All that still have connections, the ones of earlier certificates included. */
  const open = new Set<UndiciPool>();

  function poolsFor(tls: TlsMaterial): { requests: UndiciPool; watches: UndiciPool } {
    if (pools?.tls === tls) return pools;
    // New certificates: running requests end on the old connections, new ones start on new.
    for (const old of open) retire(old);
    pools = {
      tls,
      requests: createPool(options, tls, MAX_CONNECTIONS),
      watches: createPool(options, tls, null),
    };
    open.add(pools.requests).add(pools.watches);
    return pools;
  }

  function retire(pool: UndiciPool): void {
    if (pool.closed) return;
    pool.close().then(
      () => open.delete(pool),
      () => open.delete(pool),
    );
  }

  function dispatch(pool: UndiciPool, request: HttpRequest, sink: StreamSink, streaming: boolean) {
    let controller: { abort(reason: Error): void } | undefined;
    let broken: Error | undefined;
    let over = false;
    const end = (tell: () => void): void => {
      if (over) return;
      over = true;
      tell();
    };
    const breakOff = (reason: Error): void => {
      broken ??= reason;
      controller?.abort(reason);
      end(() => sink.failed(reason));
    };
    pool.dispatch(
      {
        method: request.method,
        path: request.path,
        headers: request.headers,
        body: request.body ?? null,
        ...(streaming ? { bodyTimeout: 0 } : {}),
      },
      {
        onRequestStart(started) {
          controller = started;
          if (broken !== undefined) started.abort(broken);
        },
        onResponseStart(flow, status, headers) {
          if (over || status < 200) return;
          sink.started({ status, headers }, flow);
        },
        onResponseData(_, bytes) {
          if (!over) sink.chunk(bytes);
        },
        onResponseEnd() {
          end(() => sink.ended());
        },
        onResponseError(_, error) {
          end(() => sink.failed(error));
        },
      },
    );
    return breakOff;
  }

  return {
    request(request) {
      return new Promise((resolve, reject) => {
        const { signal } = request;
        if (signal?.aborted) return reject(signal.reason);
        const onAbort = (): void => {
          reject(signal?.reason);
          breakOff(new Error('aborted'));
        };
        const settle = (): void => signal?.removeEventListener('abort', onAbort);
        let answer: HttpAnswer | undefined;
        const chunks: Buffer[] = [];
        signal?.addEventListener('abort', onAbort, { once: true });
        const breakOff = dispatch(
          poolsFor(request.tls).requests,
          request,
          {
            started(head) {
              answer = head;
            },
            chunk(bytes) {
              chunks.push(bytes);
            },
            ended() {
              settle();
              if (answer === undefined) reject(new Error('the answer had no head'));
              else
                resolve({
                  ...answer,
                  body: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks),
                });
            },
            failed(error) {
              settle();
              reject(error);
            },
          },
          false,
        );
      });
    },
    stream(request, sink) {
      return dispatch(poolsFor(request.tls).watches, request, sink, true);
    },
    async close() {
      await Promise.all([...open].map((pool) => pool.destroy()));
    },
  };
}

function createPool(
  options: TransportOptions,
  material: TlsMaterial,
  connections: number | null,
): UndiciPool {
  const { tls } = options;
  return new Pool(options.origin, {
    allowH2: false,
    connections,
    connectTimeout: options.connectTimeoutMs ?? 10_000,
    headersTimeout: options.headersTimeoutMs ?? 75_000,
    bodyTimeout: options.bodyTimeoutMs ?? 60_000,
    keepAliveTimeout: 60_000,
    connect: {
      ...material,
      keepAliveInitialDelay: 15_000,
      rejectUnauthorized: tls.insecureSkipVerify !== true,
      ...(tls.serverName ? { servername: tls.serverName } : {}),
    },
  });
}
