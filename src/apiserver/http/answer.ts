// Small responses: encoded JSON, and errors as Status bodies.

import type { ServerResponse } from 'node:http';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Version } from '../storage/version.ts';
import { internalError, statusOf } from '../verbs/status.ts';

export interface AnswerOptions {
  code: number;
  pretty: boolean;
  warnings: readonly string[];
  /** Default: `application/json`. */
  contentType?: string;
}

/** For small bodies; `answerBody` sends any. */
export function answerJson(response: ServerResponse, json: Buffer | string, options: AnswerOptions): void {
  if (response.headersSent || response.destroyed) return;
  const body = options.pretty ? prettyJson(json) : json;
  startAnswer(response, options, Buffer.byteLength(body));
  response.end(body);
}

export function prettyJson(json: Buffer | string): string {
  return `${JSON.stringify(JSON.parse(String(json)), undefined, 2)}\n`;
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
    ...(warnings.length === 0 ? {} : { Warning: warningHeaders(warnings) }),
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

/** For an error that is answered later: a client learns of unknown fields even when its object is rejected. */
export function addWarnings(response: ServerResponse, warnings: readonly string[]): void {
  if (warnings.length > 0 && !response.headersSent) response.setHeader('Warning', warningHeaders(warnings));
}

/** As in kube-apiserver: beyond this total each warning is shortened, and the rest left out. Clients limit headers to 16 KiB. */
const MAX_WARNINGS_LENGTH = 4096;
const SHORTENED_LENGTH = 256;

function warningHeaders(texts: readonly string[]): string[] {
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  if (total <= MAX_WARNINGS_LENGTH) return texts.map(warningHeader);
  const shown = MAX_WARNINGS_LENGTH / SHORTENED_LENGTH;
  return texts.slice(0, shown).map((text) => warningHeader(text.slice(0, SHORTENED_LENGTH)));
}

/** Kubernetes clients print warnings with code 299. Characters that a header cannot carry are removed. */
function warningHeader(text: string): string {
  const safe = text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&');
  return `299 - "${safe}"`;
}
