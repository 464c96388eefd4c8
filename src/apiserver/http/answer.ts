// Writes answers: what is already JSON, objects, lists put together from the bytes of their items, tables,
// and errors as Status bodies.

import type { ServerResponse } from 'node:http';
import { apiVersionOf } from '../../api/object.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Kind } from '../kind.ts';
import type { Version } from '../storage/version.ts';
import type { ListAnswer } from '../verbs/read/list.ts';
import { internalError, statusOf } from '../verbs/status.ts';
import type { MediaChoice } from './negotiation.ts';

export interface AnswerOptions {
  code: number;
  media: MediaChoice;
  pretty: boolean;
  warnings: readonly string[];
  /** Of JSON that has a more particular type. */
  contentType?: string;
}

export async function answerJson(
  response: ServerResponse,
  json: Buffer | string,
  options: AnswerOptions,
): Promise<void> {
  let body = json;
  let contentType = options.contentType ?? 'application/json';
  if (options.media.format === 'yaml') {
    const { stringify } = await import('yaml');
    body = stringify(JSON.parse(String(json)));
    contentType = 'application/yaml';
  } else if (options.pretty) {
    body = `${JSON.stringify(JSON.parse(String(json)), undefined, 2)}\n`;
  }
  if (response.headersSent || response.destroyed) return;
  const headers: Record<string, string | number | string[]> = {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-cache, private',
  };
  if (options.warnings.length > 0) headers.Warning = options.warnings.map(warningHeader);
  response.writeHead(options.code, headers);
  response.end(body);
}

export function answerObject(response: ServerResponse, body: object, options: AnswerOptions): Promise<void> {
  return answerJson(response, JSON.stringify(body), options);
}

/** Never fails: what is no KubeError is a bug in the server, and the client is told so without its details. */
export async function answerError(
  response: ServerResponse,
  error: unknown,
  options: { pretty: boolean; media?: MediaChoice },
): Promise<KubeError> {
  const known = error instanceof KubeError ? error : internalError('the server met an unexpected condition');
  const retryAfter = known.details.retryAfterSeconds;
  if (retryAfter !== undefined && !response.headersSent) response.setHeader('Retry-After', retryAfter);
  if (known.code === 401 && !response.headersSent) {
    response.setHeader('WWW-Authenticate', 'Bearer realm="kubernetes"');
  }
  const media = options.media ?? { format: 'json' };
  const form: MediaChoice = { format: media.format };
  await answerObject(response, statusOf(known), {
    code: known.code || 500,
    media: form,
    pretty: options.pretty,
    warnings: [],
  });
  return known;
}

const COMMA = Buffer.from(',');
const END = Buffer.from(']}\n');

/** The list as bytes, by copying the bytes of its items. */
export function listBytes(kind: Kind, { items, metadata }: ListAnswer): Buffer {
  const head = `{"kind":"${kind.kind}List","apiVersion":"${apiVersionOf(kind)}","metadata":${JSON.stringify(metadata)},"items":[`;
  const parts: Buffer[] = [Buffer.from(head)];
  for (const [index, version] of items.entries()) {
    if (index > 0) parts.push(COMMA);
    parts.push(version.bytes);
  }
  parts.push(END);
  return Buffer.concat(parts);
}

export function partialMetadata(version: Version, asVersion: string): object {
  const { metadata } = version.object;
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${asVersion}`, metadata };
}

export function partialMetadataList({ items, metadata }: ListAnswer, asVersion: string): object {
  return {
    kind: 'PartialObjectMetadataList',
    apiVersion: `meta.k8s.io/${asVersion}`,
    metadata,
    items: items.map((version) => partialMetadata(version, asVersion)),
  };
}

/** Code 299 is what Kubernetes clients print. Characters a header cannot carry are left out. */
function warningHeader(text: string): string {
  const safe = text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&');
  return `299 - "${safe}"`;
}
