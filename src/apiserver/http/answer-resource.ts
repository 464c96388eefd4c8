// Responses about resources in the negotiated representation: objects, tables, metadata only, lists, as JSON or YAML.
// Large lists are streamed with backpressure, in the client's turns of the fair queue.

import type { Kind } from '../kind.ts';
import { toTable } from '../printing/table.ts';
import type { Version } from '../storage/version.ts';
import type { Answer } from '../verbs/dispatch.ts';
import type { ListAnswer } from '../verbs/read/list.ts';
import { badRequest, notAcceptableSize, notAView } from '../verbs/status.ts';
import { type AnswerOptions, partialMetadata, startAnswer } from './answer.ts';
import type { Steps } from './fair-queue.ts';
import type { ResourceExchange } from './handle-resource.ts';
import { listChunks } from './list-chunks.ts';
import type { MediaChoice } from './negotiation.ts';
import type { RequestInfo } from './request-info.ts';
import { answerBody, CHUNK_BYTES, type NextChunk, streamChunks } from './stream-body.ts';
import { YamlError } from './yaml/yaml-error.ts';

/** YAML cannot be streamed. The limit of a request body. */
const MAX_YAML_BYTES = 3 * 1024 * 1024;

export interface ResourceAnswer {
  readonly kind: Kind;
  readonly media: MediaChoice;
  readonly answer: Exclude<Answer, { kind: 'list' }>;
  readonly warnings?: readonly string[];
}

export async function answerResource(exchange: ResourceExchange, given: ResourceAnswer): Promise<void> {
  const { answer, media, warnings = [] } = given;
  if (answer.kind === 'other') {
    return send(exchange, media, JSON.stringify(answer.body), { code: answer.code, warnings });
  }
  const code = answer.created ? 201 : 200;
  return send(exchange, media, jsonOf(exchange, given, answer.version), { code, warnings });
}

function jsonOf(
  exchange: ResourceExchange,
  { kind, media }: ResourceAnswer,
  version: Version,
): Buffer | string {
  const { as, asVersion = 'v1' } = media;
  if (as === undefined) return version.json;
  if (as === 'PartialObjectMetadataList')
    throw notAView(`you requested ${as}, but the requested object is not a list`);
  if (as !== 'Table') return JSON.stringify(partialMetadata(version, asVersion));
  const table = toTable(kind, [version.object], {
    includeObject: includeObjectOf(exchange.info),
    nowMs: exchange.machine.clock.now(),
    listMetadata: { resourceVersion: version.object.metadata.resourceVersion },
    version: asVersion,
  });
  return JSON.stringify(table);
}

export function includeObjectOf({ query }: RequestInfo): string {
  const policy = query.get('includeObject') || 'Metadata';
  if (!INCLUDED.has(policy)) {
    throw badRequest(
      `includeObject: Invalid value: "${policy}": must be 'Metadata', 'Object', 'None', or empty`,
    );
  }
  return policy;
}

const INCLUDED = new Set(['Metadata', 'Object', 'None']);

export async function answerList(
  exchange: ResourceExchange,
  { kind, media, find }: { kind: Kind; media: MediaChoice; find: () => Steps<ListAnswer> },
): Promise<void> {
  const { fair, client, response, info, machine } = exchange;
  const isYaml = media.format === 'yaml';
  if (media.as === 'PartialObjectMetadata') {
    throw notAView(`you requested ${media.as}, but the requested object is a list`);
  }
  // A list that fits into one chunk has no `next`.
  const { first, next } = await fair.run(client, function* (): Steps<{ first: Buffer; next?: NextChunk }> {
    const list = yield* find();
    const form = { kind, media, includeObject: includeObjectOf(info), nowMs: machine.clock.now() };
    const chunks = listChunks(list, form);
    const { bytes, isLast } = yield* chunks(isYaml ? MAX_YAML_BYTES : CHUNK_BYTES);
    if (isLast) return { first: bytes };
    if (isYaml) throw notAcceptableSize(MAX_YAML_BYTES);
    return { first: bytes, next: chunks };
  });
  if (next === undefined) return send(exchange, media, first, { code: 200, warnings: [] });
  if (response.destroyed) return;
  startAnswer(response, { code: 200, warnings: [] });
  let isFirst = true;
  return streamChunks(exchange, function* (length) {
    if (!isFirst) return yield* next(length);
    isFirst = false;
    return { bytes: first, isLast: false };
  });
}

async function send(
  exchange: ResourceExchange,
  media: MediaChoice,
  json: Buffer | string,
  options: Pick<AnswerOptions, 'code' | 'warnings'>,
): Promise<void> {
  const { pretty, yaml, client } = exchange;
  if (media.format !== 'yaml') return answerBody(exchange, json, { ...options, pretty });
  try {
    const body = await yaml.toYaml(String(json), client);
    await answerBody(exchange, body, { ...options, pretty: false, contentType: 'application/yaml' });
  } catch (error) {
    throw error instanceof YamlError ? notAcceptableSize(MAX_YAML_BYTES) : error;
  }
}
