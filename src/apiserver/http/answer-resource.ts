// Responses about resources in the negotiated representation: objects, tables, metadata only, lists, as JSON or YAML.
// Large lists are streamed with backpressure, in the client's turns of the fair queue.

import type { ServerResponse } from 'node:http';
import type { Clock } from '../../runtime/ports.ts';
import type { Kind } from '../kind.ts';
import { toTable } from '../printing/table.ts';
import type { Version } from '../storage/version.ts';
import type { Answer } from '../verbs/dispatch.ts';
import type { ListAnswer } from '../verbs/read/list.ts';
import { notAcceptableSize } from '../verbs/status.ts';
import { type AnswerOptions, answerJson, partialMetadata, startAnswer, writeLast } from './answer.ts';
import type { Steps } from './fair-queue.ts';
import type { ResourceExchange } from './handle-resource.ts';
import { listChunks, type NextChunk } from './list-chunks.ts';
import type { MediaChoice } from './negotiation.ts';
import type { RequestInfo } from './request-info.ts';
import { YamlError } from './yaml/yaml-error.ts';

/** Size of the chunks of a list: encoded, encrypted and written to the socket at once. */
const CHUNK_BYTES = 128 * 1024;
/** As with watches. */
const STALL_MS = 30_000;
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
  if (as !== 'Table') return JSON.stringify(partialMetadata(version, asVersion));
  const table = toTable(kind, [version.object], {
    includeObject: includeObjectOf(exchange.info),
    nowMs: exchange.machine.clock.now(),
    listMetadata: { resourceVersion: version.object.metadata.resourceVersion },
  });
  return JSON.stringify({ ...table, apiVersion: `meta.k8s.io/${asVersion}` });
}

export function includeObjectOf({ query }: RequestInfo): string {
  return query.get('includeObject') || 'Metadata';
}

export async function answerList(
  exchange: ResourceExchange,
  { kind, media, find }: { kind: Kind; media: MediaChoice; find: () => Steps<ListAnswer> },
): Promise<void> {
  const { fair, client, response, info, machine } = exchange;
  const isYaml = media.format === 'yaml';
  let next: NextChunk | undefined;
  // Nothing when complete; otherwise a small or last chunk, or the client must read first.
  const first = await fair.run(client, function* () {
    const list = yield* find();
    const form = { kind, media, includeObject: includeObjectOf(info), nowMs: machine.clock.now() };
    next = listChunks(list, form);
    const chunk = yield* next(isYaml ? MAX_YAML_BYTES : CHUNK_BYTES);
    if (chunk.isLast) return chunk.bytes;
    if (isYaml) throw notAcceptableSize(MAX_YAML_BYTES);
    if (!response.destroyed) startAnswer(response, { code: 200, warnings: [] });
    if (response.write(chunk.bytes)) yield* writeChunks(response, next);
    return undefined;
  });
  if (first !== undefined) return send(exchange, media, first, { code: 200, warnings: [] });
  const chunks = next as unknown as NextChunk;
  while (!response.writableEnded && !response.destroyed) {
    await drained(response, machine.clock);
    await fair.run(client, () => writeChunks(response, chunks), { goesOn: true });
  }
}

/** Until the socket applies backpressure. */
function* writeChunks(response: ServerResponse, next: NextChunk): Steps<void> {
  for (;;) {
    yield;
    if (response.destroyed) return;
    const { bytes, isLast } = yield* next(CHUNK_BYTES);
    if (isLast) return writeLast(response, bytes);
    if (!response.write(bytes)) return;
  }
}

/** Waits until the socket drains or closes. A client that does not read for too long is disconnected. */
function drained(response: ServerResponse, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stalled = clock.setTimeout(() => response.destroy(), STALL_MS);
    const done = (): void => {
      stalled.cancel();
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

async function send(
  { response, pretty, yaml, client }: ResourceExchange,
  media: MediaChoice,
  json: Buffer | string,
  options: Pick<AnswerOptions, 'code' | 'warnings'>,
): Promise<void> {
  if (media.format !== 'yaml') return answerJson(response, json, { ...options, pretty });
  try {
    const body = await yaml.toYaml(String(json), client);
    answerJson(response, body, { ...options, pretty: false, contentType: 'application/yaml' });
  } catch (error) {
    throw error instanceof YamlError ? notAcceptableSize(MAX_YAML_BYTES) : error;
  }
}
