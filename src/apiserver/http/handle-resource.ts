// Requests about resources: finds the kind and the verb that method and path mean, has the verb done, and answers in the
// form the client asked for.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Kind } from '../kind.ts';
import type { User } from '../pipeline.ts';
import { toTable } from '../printing/table.ts';
import type { Version } from '../storage/version.ts';
import { type Answer, openRequest, read } from '../verbs/dispatch.ts';
import { type ListAnswer, list } from '../verbs/read/list.ts';
import { watch } from '../verbs/read/watch.ts';
import type { Machine, ResourceRequest } from '../verbs/request.ts';
import { methodNotAllowed } from '../verbs/status.ts';
import { answerJson, answerObject, listBytes, partialMetadata, partialMetadataList } from './answer.ts';
import type { BodyReader } from './body-reader.ts';
import { writeOverHttp } from './handle-write.ts';
import { type MediaChoice, negotiate } from './negotiation.ts';
import { readInteger, readListParameters, readWatchParameters } from './query.ts';
import type { RequestInfo, ResourcePath } from './request-info.ts';
import { streamWatch } from './watch-stream.ts';
import type { YamlReader } from './yaml/yaml-reader.ts';

export interface ResourceExchange {
  machine: Machine;
  message: IncomingMessage;
  response: ServerResponse;
  info: RequestInfo;
  path: ResourcePath;
  user: User;
  /** Whose limits and turn it counts for: who was authenticated, whoever they act as. */
  client: string;
  pretty: boolean;
  bodies: BodyReader;
  yaml: YamlReader;
}

/** Watches without a time-out end after half an hour to an hour, spread so that they do not all return at once. */
const MIN_WATCH_MS = 1_800_000;

/** The verb as authorizers and metrics know it, or undefined for a method Kubernetes does not use. */
export function verbOf(method: string, { name }: ResourcePath, query: URLSearchParams): string | undefined {
  switch (method) {
    case 'GET':
      if (isTrue(query.get('watch'))) return 'watch';
      return name === '' ? 'list' : 'get';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete';
    default:
      return undefined;
  }
}

function isTrue(text: string | null): boolean {
  return text !== null && /^(1|t|true)$/i.test(text);
}

export async function handleResource(exchange: ResourceExchange): Promise<void> {
  const { machine, message, info, path, user } = exchange;
  const { group, version, plural } = path;
  const method = message.method ?? '';
  const verb = verbOf(method, path, info.query);
  if (verb === undefined) throw methodNotAllowed(method, path);
  const fieldSelector = info.query.get('fieldSelector') || undefined;
  const kind = machine.registry.find(group, version, plural);
  const request = openRequest(machine, { ...path, user, verb, fieldSelector }, kind);
  const media = negotiate(message.headers.accept);
  switch (verb) {
    case 'get': {
      const resourceVersion = info.query.get('resourceVersion') ?? undefined;
      return answer(exchange, request, media, { answer: read(machine, request, resourceVersion) });
    }
    case 'list': {
      const found = list(machine, request, readListParameters(info.query));
      return answer(exchange, request, media, { answer: { kind: 'list', list: found } });
    }
    case 'watch':
      return watchOverHttp(exchange, media, request);
    default:
      return answer(exchange, request, media, await writeOverHttp(exchange, verb, request));
  }
}

/** The body that an answer has, in the form that the client asked for. */
async function answer(
  exchange: ResourceExchange,
  { kind }: ResourceRequest,
  media: MediaChoice,
  { answer, warnings = [] }: { answer: Answer; warnings?: readonly string[] },
): Promise<void> {
  const { response, pretty } = exchange;
  switch (answer.kind) {
    case 'list':
      return answerList(exchange, media, kind, answer.list);
    case 'other': {
      const { body, code } = answer;
      return answerObject(response, body, { code, media: { format: media.format }, pretty, warnings });
    }
    case 'object': {
      const code = answer.created ? 201 : 200;
      return answerVersion(exchange, media, answer.version, { kind, code, warnings });
    }
  }
}

async function watchOverHttp(
  exchange: ResourceExchange,
  media: MediaChoice,
  request: ResourceRequest,
): Promise<void> {
  const { machine, response, info } = exchange;
  const parameters = readWatchParameters(info.query);
  const asked = readInteger(info.query, 'timeoutSeconds');
  const timeoutMs = asked && asked > 0 ? asked * 1000 : MIN_WATCH_MS * (1 + machine.random.next());
  await streamWatch({
    machine,
    response,
    kind: request.kind,
    media,
    includeObject: includeObjectOf(info),
    allowBookmarks: parameters.allowBookmarks ?? false,
    timeoutMs,
    start: () => watch(machine, request, parameters),
  });
}

function includeObjectOf({ query }: RequestInfo): string {
  return query.get('includeObject') || 'Metadata';
}

async function answerVersion(
  exchange: ResourceExchange,
  media: MediaChoice,
  version: Version,
  { kind, code, warnings }: { kind: Kind; code: number; warnings: readonly string[] },
): Promise<void> {
  const { response, pretty, machine, info } = exchange;
  const options = { code, media, pretty, warnings };
  if (media.as === 'Table') {
    const { resourceVersion } = version.object.metadata;
    const table = toTable(kind, [version.object], {
      includeObject: includeObjectOf(info),
      nowMs: machine.clock.now(),
      listMetadata: { resourceVersion },
    });
    return answerObject(response, { ...table, apiVersion: `meta.k8s.io/${media.asVersion}` }, options);
  }
  if (media.as !== undefined) {
    return answerObject(response, partialMetadata(version, media.asVersion ?? 'v1'), options);
  }
  return answerJson(response, version.json, options);
}

async function answerList(
  exchange: ResourceExchange,
  media: MediaChoice,
  kind: Kind,
  answer: ListAnswer,
): Promise<void> {
  const { response, pretty, machine, info } = exchange;
  const options = { code: 200, media, pretty, warnings: [] };
  if (media.as === 'Table') {
    const objects = answer.items.map(({ object }) => object);
    const table = toTable(kind, objects, {
      includeObject: includeObjectOf(info),
      nowMs: machine.clock.now(),
      listMetadata: answer.metadata,
    });
    return answerObject(response, { ...table, apiVersion: `meta.k8s.io/${media.asVersion}` }, options);
  }
  if (media.as !== undefined) {
    return answerObject(response, partialMetadataList(answer, media.asVersion ?? 'v1'), options);
  }
  return answerJson(response, listBytes(kind, answer), options);
}
