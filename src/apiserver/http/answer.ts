// Writes responses: encoded JSON, objects, and errors as Status bodies.

import type { ServerResponse } from 'node:http';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Version } from '../storage/version.ts';
import { internalError, statusOf } from '../verbs/status.ts';

/** Below the socket's high-water mark. */
const SMALL_BYTES = 16 * 1024;

export interface AnswerOptions {
  code: number;
  pretty: boolean;
  warnings: readonly string[];
  /** Default: `application/json`. */
  contentType?: string;
}

export function answerJson(response: ServerResponse, json: Buffer | string, options: AnswerOptions): void {
  const body = options.pretty ? `${JSON.stringify(JSON.parse(String(json)), undefined, 2)}\n` : json;
  if (response.headersSent || response.destroyed) return;
  const length = Buffer.byteLength(body);
  const isSmall = length <= SMALL_BYTES;
  startAnswer(response, options, isSmall ? length : undefined);
  if (isSmall) response.end(body);
  else writeLast(response, body);
}

/**
 * A client must not receive the end of a response while the socket still has to drain: if its next request arrives
 * then, Node pauses the parser but continues to feed it decrypted TLS data, which fails with HPE_PAUSED.
 */
export function writeLast(response: ServerResponse, body: Buffer | string): void {
  response.write(body, () => response.end());
}

export function startAnswer(
  response: ServerResponse,
  { code, contentType = 'application/json', warnings }: Omit<AnswerOptions, 'pretty'>,
  length?: number,
): void {
  response.writeHead(code, {
    'Content-Type': contentType,
    ...(length === undefined ? {} : { 'Content-Length': length }),
    'Cache-Control': 'no-cache, private',
    ...(warnings.length === 0 ? {} : { Warning: warnings.map(warningHeader) }),
  });
}

/**
 * Never fails. An error that is no KubeError is a bug in the server: the client gets an internal error without details.
 */
export function answerError(response: ServerResponse, error: unknown, pretty: boolean): void {
  const known = error instanceof KubeError ? error : internalError('the server met an unexpected condition');
  const retryAfter = known.details.retryAfterSeconds;
  if (retryAfter !== undefined && !response.headersSent) response.setHeader('Retry-After', retryAfter);
  if (known.code === 401 && !response.headersSent) {
    response.setHeader('WWW-Authenticate', 'Bearer realm="kubernetes"');
  }
  const code = known.code || 500;
  answerJson(response, JSON.stringify(statusOf(known)), { code, pretty, warnings: [] });
}

export function partialMetadata(version: Version, asVersion: string): object {
  const { metadata } = version.object;
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${asVersion}`, metadata };
}

/** Kubernetes clients print warnings with code 299. Characters that a header cannot carry are removed. */
function warningHeader(text: string): string {
  const safe = text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&');
  return `299 - "${safe}"`;
}
