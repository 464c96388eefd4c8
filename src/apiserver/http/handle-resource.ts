// Requests about resources: finds the kind and the verb that method and path mean, hands over to the verb, and
// answers in the form the client asked for.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PatchType } from '../../runtime/kube/kube.ts';
import type { Kind, Subresource } from '../kind.ts';
import type { User } from '../pipeline.ts';
import { toTable } from '../printing/table.ts';
import type { Version } from '../storage/version.ts';
import { get } from '../verbs/read/get.ts';
import { type ListAnswer, list } from '../verbs/read/list.ts';
import { watch } from '../verbs/read/watch.ts';
import type { Machine, ResourceRequest, WriteAnswer, WriteRequest } from '../verbs/request.ts';
import { badRequest, methodNotAllowed, noSuchPath } from '../verbs/status.ts';
import { createSubresource, createVirtual } from '../verbs/subresources/create-subresource.ts';
import { getScale, patchScale, updateScale } from '../verbs/subresources/scale.ts';
import { create } from '../verbs/write/create.ts';
import { deleteOne, policyOf, readDeleteOptions } from '../verbs/write/delete.ts';
import { deleteCollection } from '../verbs/write/delete-collection.ts';
import { patch } from '../verbs/write/patch.ts';
import { update } from '../verbs/write/update.ts';
import { answerJson, answerObject, listBytes, partialMetadata, partialMetadataList } from './answer.ts';
import { type MediaChoice, negotiate } from './negotiation.ts';
import {
  readBoolean,
  readDryRun,
  readFieldValidation,
  readInteger,
  readListParameters,
  readWatchParameters,
} from './query.ts';
import { PROTOBUF, parseBody, readBody } from './read-body.ts';
import type { RequestInfo, ResourcePath } from './request-info.ts';
import { streamWatch } from './watch-stream.ts';

export interface ResourceExchange {
  machine: Machine;
  message: IncomingMessage;
  response: ServerResponse;
  info: RequestInfo;
  path: ResourcePath;
  user: User;
  pretty: boolean;
}

const OBJECT_TYPES = ['application/json', 'application/yaml', 'text/yaml', PROTOBUF];
const PATCH_TYPES: Record<string, PatchType> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
};
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
  const { machine, message, info, path } = exchange;
  const kind = machine.registry.find(path.group, path.version, path.plural);
  if (kind === undefined) throw noSuchPath();
  const verb = verbOf(message.method ?? '', path, info.query);
  const subresource = path.subresource as Subresource | '';
  if (subresource !== '' && !kind.subresources.includes(subresource)) throw noSuchPath();
  if (path.namespace !== undefined && !kind.namespaced) throw noSuchPath();
  // One object of a namespaced kind has no path without its namespace.
  if (kind.namespaced && path.namespace === undefined && path.name !== '') throw noSuchPath();
  if (verb === undefined || !serves(kind, verb, path))
    throw methodNotAllowed(verb ?? message.method ?? '', kind);
  const { user } = exchange;
  const request: ResourceRequest = { user, kind, namespace: path.namespace, name: path.name, subresource };
  await run(exchange, verb, request);
}

function serves(kind: Kind, verb: string, { namespace, name, subresource }: ResourcePath): boolean {
  if (subresource === 'status' || subresource === 'finalize' || subresource === 'approval') {
    return ['get', 'update', 'patch'].includes(verb) && !(subresource === 'finalize' && verb !== 'update');
  }
  if (subresource === 'scale') return ['get', 'update', 'patch'].includes(verb);
  if (subresource !== '') return verb === 'create';
  if (kind.virtual) return verb === 'create';
  if (verb === 'create' && (name !== '' || (kind.namespaced && namespace === undefined))) return false;
  if ((verb === 'update' || verb === 'patch') && name === '') return false;
  if (verb === 'deletecollection' && kind.namespaced && namespace === undefined) return false;
  return kind.verbs.includes(verb);
}

async function run(exchange: ResourceExchange, verb: string, request: ResourceRequest): Promise<void> {
  const { machine, info } = exchange;
  const media = mediaFor(exchange);
  switch (verb) {
    case 'get':
      if (request.subresource === 'scale') {
        const { format } = media;
        const { response, pretty } = exchange;
        return answerObject(response, getScale(machine, request), {
          code: 200,
          media: { format },
          pretty,
          warnings: [],
        });
      }
      return answerVersion(
        exchange,
        media,
        get(machine, request, info.query.get('resourceVersion') ?? undefined),
        {
          kind: request.kind,
          code: 200,
          warnings: [],
        },
      );
    case 'list':
      return answerList(
        exchange,
        media,
        request.kind,
        list(machine, request, readListParameters(info.query)),
      );
    case 'watch':
      return watchOverHttp(exchange, media, request);
    default:
      return write(exchange, media, verb, request);
  }
}

function mediaFor({ message }: ResourceExchange): MediaChoice {
  return negotiate(message.headers.accept);
}

async function write(
  exchange: ResourceExchange,
  media: MediaChoice,
  verb: string,
  resource: ResourceRequest,
): Promise<void> {
  const { machine, message, info } = exchange;
  const warnings: string[] = [];
  const request: WriteRequest = {
    ...resource,
    dryRun: readDryRun(info.query),
    fieldManager: info.query.get('fieldManager') || (isApply(message) ? '' : managerFrom(message)),
    fieldValidation: readFieldValidation(info.query),
    warn: (text) => warnings.push(text),
  };
  const bytes = await readBody(message);
  const contentType = message.headers['content-type'];
  const body = async (accepted = OBJECT_TYPES): Promise<unknown> => {
    if (bytes === undefined) throw badRequest('the request has no body');
    return parseBody(bytes, contentType, accepted);
  };
  const deletion = async () => {
    const options = readDeleteOptions(bytes === undefined ? undefined : await body());
    const { gracePeriodSeconds = readInteger(info.query, 'gracePeriodSeconds') } = options;
    const { propagationPolicy = policyOf(info.query.get('propagationPolicy')) } = options;
    return { ...options, gracePeriodSeconds, propagationPolicy };
  };
  let answer: WriteAnswer;
  switch (verb) {
    case 'create':
      if (request.kind.virtual) answer = await createVirtual(machine, request, await body());
      else if (request.subresource !== '') answer = await createSubresource(machine, request, await body());
      else answer = await create(machine, request, await body());
      break;
    case 'update':
      answer = await (request.subresource === 'scale' ? updateScale : update)(machine, request, await body());
      break;
    case 'patch': {
      const type = PATCH_TYPES[(contentType ?? '').split(';', 1)[0]?.trim() ?? ''];
      const parsed = await body(Object.keys(PATCH_TYPES));
      if (request.subresource === 'scale') {
        if (type === undefined || type === 'apply')
          throw badRequest('a scale takes JSON, merge and strategic merge patches');
        answer = await patchScale(machine, request, parsed, type);
        break;
      }
      const force = readBoolean(info.query, 'force') ?? false;
      answer = await patch(machine, request, parsed, { type: type as PatchType, force });
      break;
    }
    case 'delete': {
      const { dryRun, ...parameters } = await deletion();
      answer = await deleteOne(machine, { ...request, dryRun: request.dryRun || dryRun }, parameters);
      break;
    }
    default: {
      const { dryRun, ...parameters } = await deletion();
      const selected = readListParameters(info.query);
      const all = { ...request, dryRun: request.dryRun || dryRun };
      const found = await deleteCollection(machine, all, selected, parameters);
      return answerList(exchange, media, request.kind, found);
    }
  }
  if (answer.kind === 'other') {
    return answerObject(exchange.response, answer.body, {
      code: answer.code,
      media: { format: media.format },
      pretty: exchange.pretty,
      warnings,
    });
  }
  const code = answer.created ? 201 : 200;
  return answerVersion(exchange, media, answer.version, { kind: request.kind, code, warnings });
}

function isApply(message: IncomingMessage): boolean {
  return message.headers['content-type']?.startsWith('application/apply-patch+yaml') ?? false;
}

/** As Kubernetes: the first part of the user agent, when the client does not name itself. */
function managerFrom(message: IncomingMessage): string {
  return (message.headers['user-agent'] ?? '').split('/', 1)[0]?.slice(0, 128) || 'unknown';
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
