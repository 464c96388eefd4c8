// Writes over HTTP: reads the body after authorization, and passes it to the verb.

import type { IncomingMessage } from 'node:http';
import { apiVersionOf } from '../../api/object.ts';
import type { PatchType } from '../../runtime/kube/kube.ts';
import { forbidden } from '../validation/checks.ts';
import { type Answer, type Write, write } from '../verbs/dispatch.ts';
import type { ResourceRequest, WriteRequest } from '../verbs/request.ts';
import { badRequest, invalidOptions } from '../verbs/status.ts';
import { policyOf, readDeleteOptions } from '../verbs/write/delete.ts';
import { addWarnings } from './answer.ts';
import type { ResourceExchange } from './handle-resource.ts';
import { bodyParser, mediaTypeOf, type ParsedBody, PROTOBUF } from './parse-body.ts';
import { readBoolean, readDryRun, readFieldValidation, readInteger, readListParameters } from './query.ts';

const OBJECT_TYPES = ['application/json', 'application/yaml', 'text/yaml', PROTOBUF];
const OPTIONS = new Map([
  ['create', 'CreateOptions'],
  ['update', 'UpdateOptions'],
  ['patch', 'PatchOptions'],
]);
const APPLY = 'application/apply-patch+yaml';
const PATCH_TYPES = new Map<string, PatchType>([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
  [APPLY, 'apply'],
]);

export async function writeOverHttp(
  exchange: ResourceExchange,
  verb: string,
  resource: ResourceRequest,
): Promise<{ answer: Answer; warnings: readonly string[] }> {
  const { machine, message, info } = exchange;
  const warnings: string[] = resource.kind.deprecation ? [resource.kind.deprecation] : [];
  const options = OPTIONS.get(verb) ?? 'DeleteOptions';
  const request: WriteRequest = {
    ...resource,
    dryRun: readDryRun(info.query, options),
    fieldManager: info.query.get('fieldManager') || (isApply(message) ? '' : managerFrom(message)),
    fieldValidation: readFieldValidation(info.query, options),
    warn: (text) => warnings.push(text),
  };
  const { bytes, release } = await exchange.bodies.read(message, exchange.client);
  try {
    const parse = bytes === undefined ? undefined : await parserFor(exchange, verb, bytes);
    const answer = await exchange.fair.once(exchange.client, () => {
      const parsed = parse?.();
      release();
      const { asked, dryRun } = whatIsAsked(exchange, { verb, resource }, parsed);
      if (asked.verb !== 'delete' && asked.verb !== 'deletecollection') {
        reportDuplicates(request, parsed?.duplicates ?? []);
      }
      return write(machine, { ...request, dryRun: request.dryRun || dryRun }, asked);
    });
    return { answer, warnings };
  } catch (error) {
    addWarnings(exchange.response, warnings);
    throw error;
  } finally {
    release();
  }
}

function parserFor(
  { message, client, bodies, yaml }: ResourceExchange,
  verb: string,
  bytes: Buffer,
): Promise<() => ParsedBody> {
  const contentType = message.headers['content-type'];
  const accepted = verb === 'patch' ? [...PATCH_TYPES.keys()] : OBJECT_TYPES;
  return bodyParser(bytes, { contentType, accepted, yaml, client, maxBytes: bodies.limits.maxBytes });
}

/** Built-in kinds may leave their type out; a custom resource has no other that it could be decoded as. */
function requireType({ kind }: ResourceRequest, body: unknown): void {
  const { apiVersion, kind: given } = (body ?? {}) as { apiVersion?: unknown; kind?: unknown };
  if (!given) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind.kind}): Object 'Kind' is missing`,
    );
  }
  if (!apiVersion) {
    throw badRequest(
      `the API version in the data () does not match the expected API version (${apiVersionOf(kind)})`,
    );
  }
}

function whatIsAsked(
  { message, info }: ResourceExchange,
  { verb, resource }: { verb: string; resource: ResourceRequest },
  parsed: ParsedBody | undefined,
): { asked: Write; dryRun: boolean } {
  if (verb === 'delete' || verb === 'deletecollection') {
    const { dryRun, ...options } = readDeleteOptions(parsed?.value ?? undefined);
    const { gracePeriodSeconds = readInteger(info.query, 'gracePeriodSeconds') } = options;
    const { propagationPolicy = policyOf(info.query.get('propagationPolicy')) } = options;
    const parameters = { ...options, gracePeriodSeconds, propagationPolicy };
    if (verb === 'delete') return { asked: { verb, parameters }, dryRun };
    return { asked: { verb, parameters, selected: readListParameters(info.query) }, dryRun };
  }
  if (parsed === undefined) throw badRequest('the request has no body');
  const { value: body } = parsed;
  if (verb === 'create' || verb === 'update') {
    if (resource.kind.isCustom) requireType(resource, body);
    return { asked: { verb, body }, dryRun: false };
  }
  const type = PATCH_TYPES.get(mediaTypeOf(message.headers['content-type'])) as PatchType;
  const force = readBoolean(info.query, 'force');
  if (force !== undefined && type !== 'apply') {
    throw invalidOptions('PatchOptions', forbidden('force', 'may not be specified for non-apply patch'));
  }
  return { asked: { verb: 'patch', body, type, force: force ?? false }, dryRun: false };
}

/** As with unknown fields: the request selects whether duplicates are accepted, warned of or rejected. */
function reportDuplicates(
  { kind, fieldValidation, warn }: WriteRequest,
  duplicates: readonly string[],
): void {
  if (duplicates.length === 0 || fieldValidation === 'Ignore') return;
  if (fieldValidation === 'Strict') {
    throw badRequest(
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ` +
        `strict decoding error: ${duplicates.join(', ')}`,
    );
  }
  for (const text of duplicates) warn(text);
}

function isApply(message: IncomingMessage): boolean {
  return message.headers['content-type']?.startsWith(APPLY) ?? false;
}

/** As in Kubernetes: the first part of the user agent, when the client gives no field manager. */
function managerFrom(message: IncomingMessage): string {
  return (message.headers['user-agent'] ?? '').split('/', 1)[0]?.slice(0, 128) || 'unknown';
}
