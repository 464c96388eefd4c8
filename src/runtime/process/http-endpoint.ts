// The server behind `--http-endpoint`: metrics and health. It knows nothing of what it serves.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errorMessage } from '../error-message.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Log } from '../ports.ts';
import type { DebugProfiles } from './debug-profiles.ts';

/** Healthy unless it throws; its message goes to whoever asks, so no secrets. */
export type HealthCheck = () => void | Promise<void>;

export interface HttpEndpointOptions {
  /** `host:port`, `:port` for all addresses, `[v6]:port`; port 0 for any. */
  address: string;
  metrics?: Metrics;
  /** `/metrics` unless given. */
  metricsPath?: string;
  /** `/healthz/NAME` each, and `/healthz` or `/health` all of them. */
  checks?: Record<string, HealthCheck>;
  /** `/debug/pprof/profile` and `/debug/pprof/heap`; not served unless given. */
  profiles?: DebugProfiles;
  log: Log;
  /** Stops the server: answers under way are finished. */
  signal: AbortSignal;
}

export interface HttpEndpoint {
  readonly host: string;
  readonly port: number;
  /** Resolves when it has stopped. */
  readonly stopped: Promise<void>;
}

/** Resolves when it listens; rejects, with the address in the message, when it cannot. */
export async function serveHttpEndpoint(options: HttpEndpointOptions): Promise<HttpEndpoint> {
  const { address, log, signal } = options;
  const { host, port } = parseAddress(address);
  // Not imported: an ESM import of `http` loads fetch and WebSocket too, 14 MB.
  const { createServer } = process.getBuiltinModule('node:http');
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      log.error('Failed to answer on the HTTP endpoint', error, { path: request.url });
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(address, error)));
    server.listen({ port, ...(host === '' ? {} : { host }) }, resolve);
  });
  server.on('error', (error) => log.error('The HTTP endpoint failed', error, { address }));
  const stopped = new Promise<void>((resolve) => server.once('close', resolve));
  const stop = () => {
    server.close();
    // Idle keep-alive connections would delay the stop.
    server.closeIdleConnections();
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  const bound = server.address() as AddressInfo;
  log.info('Serving metrics and health', { address: bound.address, port: bound.port });
  return { host: bound.address, port: bound.port, stopped };
}

export function parseAddress(address: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) {
    throw new Error(
      `HTTP endpoint ${JSON.stringify(address)} is not host:port, :port or [IPv6 address]:port`,
    );
  }
  return { host: match[1] ?? match[2] ?? '', port };
}

function listenError(address: string, error: NodeJS.ErrnoException): Error {
  const why: Record<string, string> = {
    EADDRINUSE: 'another process listens there',
    EACCES: 'this process may not use that port',
    EADDRNOTAVAIL: 'this machine does not have that address',
    ENOTFOUND: 'the host name is unknown',
  };
  const reason = why[error.code ?? ''] ?? error.message;
  return new Error(`cannot serve the HTTP endpoint on ${address}: ${reason}`, { cause: error });
}

async function answer(
  { metrics, metricsPath = '/metrics', checks = {}, profiles, signal }: HttpEndpointOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
  const say = (status: number, text: string, type = 'text/plain; charset=utf-8') => {
    // A keep-alive connection would delay the stop.
    if (signal.aborted) response.shouldKeepAlive = false;
    response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' });
    response.end(request.method === 'HEAD' ? undefined : text);
  };
  if (request.method !== 'GET' && request.method !== 'HEAD') return say(405, 'method not allowed\n');
  if (metrics !== undefined && path === metricsPath) return say(200, metrics.text(), metrics.contentType);
  // The second is the official snapshot metadata sidecar's.
  if (path === '/healthz' || path === '/health') return sayHealth(Object.entries(checks), say);
  const check = /^\/healthz\/([^/]+)$/.exec(path)?.[1];
  if (check !== undefined && Object.hasOwn(checks, check)) {
    return sayHealth(
      Object.entries(checks).filter(([name]) => name === check),
      say,
    );
  }
  const profile = profiles?.serve(path, new URLSearchParams(query), signal);
  if (profile === undefined) return say(404, 'not found\n');
  await profile.then(
    (json) => say(200, json, 'application/json'),
    (error: Error) => say(503, `no profile: ${error.message}\n`),
  );
}

async function sayHealth(
  checks: [string, HealthCheck][],
  say: (status: number, text: string) => void,
): Promise<void> {
  const failures: string[] = [];
  for (const [name, check] of checks) {
    try {
      await check();
    } catch (error) {
      failures.push(`${name}: ${errorMessage(error)}`);
    }
  }
  if (failures.length === 0) say(200, 'ok');
  else say(500, `internal server error: ${failures.join('; ')}\n`);
}
