// The errors of the API server, in Kubernetes' words, and their Status body.

import { KubeError, type KubeErrorReason, type StatusDetails } from '../../runtime/kube/kube-error.ts';
import type { FieldError, Kind } from '../kind.ts';

/** The kind in a Status: built-in errors carry the plural as `kind`, validation errors the Kind. */
type Named = Pick<Kind, 'group' | 'plural'>;

function qualified({ group, plural }: Named): string {
  return group === '' ? plural : `${plural}.${group}`;
}

function fail(reason: KubeErrorReason, code: number, message: string, details?: StatusDetails): KubeError {
  return new KubeError({ reason, code, message, ...(details === undefined ? {} : { details }) });
}

function detailsOf(kind: Named, name: string): StatusDetails {
  return { name, ...(kind.group === '' ? {} : { group: kind.group }), kind: kind.plural };
}

export function notFound(kind: Named, name: string): KubeError {
  return fail('NotFound', 404, `${qualified(kind)} "${name}" not found`, detailsOf(kind, name));
}

/** The path is not served. */
export function noSuchPath(): KubeError {
  return fail('NotFound', 404, 'the server could not find the requested resource');
}

export function alreadyExists(kind: Named, name: string): KubeError {
  return fail('AlreadyExists', 409, `${qualified(kind)} "${name}" already exists`, detailsOf(kind, name));
}

export function nameCollisions(kind: Named, name: string): KubeError {
  return fail(
    'AlreadyExists',
    409,
    `${qualified(kind)} "${name}" already exists, the server was not able to generate a unique name for the object`,
    { ...detailsOf(kind, name), retryAfterSeconds: 1 },
  );
}

export function conflict(kind: Named, name: string, why: string): KubeError {
  return fail(
    'Conflict',
    409,
    `Operation cannot be fulfilled on ${qualified(kind)} "${name}": ${why}`,
    detailsOf(kind, name),
  );
}

export function staleWrite(kind: Named, name: string): KubeError {
  return conflict(
    kind,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );
}

/** What an option of a request may not be. `kind` is the type of the options, such as `CreateOptions`. */
export function invalidOptions(kind: string, ...errors: readonly FieldError[]): KubeError {
  return invalid({ group: 'meta.k8s.io', kind }, '', errors);
}

/** The patched object cannot be decoded. */
export function invalidPatch(message: string): KubeError {
  return fail('Invalid', 422, ` "" is invalid: patch: Invalid value: ${message}`, {
    causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }],
  });
}

/** kube-apiserver answers some mistakes of clients with 500 and without a reason. */
export function unclassified(message: string): KubeError {
  return fail('Unknown', 500, message);
}

export function nameless(name: string): KubeError {
  return badRequest(
    `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
  );
}

export function badRequest(message: string): KubeError {
  return fail('BadRequest', 400, message);
}

export function invalid(
  kind: Pick<Kind, 'group' | 'kind'>,
  name: string,
  errors: readonly FieldError[],
): KubeError {
  const texts = errors.map(({ field, message }) => `${field}: ${message}`);
  const all = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const qualifiedKind = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  return fail('Invalid', 422, `${qualifiedKind} "${name}" is invalid: ${all}`, {
    ...(name === '' ? {} : { name }),
    ...(kind.group === '' ? {} : { group: kind.group }),
    kind: kind.kind,
    causes: errors.map(({ reason, message, field }) => ({ reason, message, field })),
  });
}

export function methodNotAllowed(verb: string, kind: Named): KubeError {
  return fail('MethodNotAllowed', 405, `${verb} is not supported on resources of kind "${qualified(kind)}"`);
}

export function expired(message: string): KubeError {
  return fail('Expired', 410, message);
}

export function tooLargeResourceVersion(asked: number, current: number): KubeError {
  const message = `Too large resource version: ${asked}, current: ${current}`;
  return fail('Timeout', 504, message, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

export function unsupportedMediaType(message: string): KubeError {
  return fail('UnsupportedMediaType', 415, message);
}

export function notAcceptable(supported: readonly string[]): KubeError {
  const message = `only the following media types are accepted: ${supported.join(', ')}`;
  return fail('NotAcceptable', 406, message, NO_DETAILS);
}

/** Details that are there, and empty. */
const NO_DETAILS: StatusDetails = Object.freeze({});

/** The answer has no such form: one object is no list, and the reverse. */
export function notAView(message: string): KubeError {
  return fail('NotAcceptable', 406, message);
}

/** Converting more would take too long. */
export function notAcceptableSize(limitBytes: number): KubeError {
  return fail(
    'NotAcceptable',
    406,
    `this answer is too large for YAML (limit is ${limitBytes}); ask for application/json`,
  );
}

export function tooLarge(limitBytes: number): KubeError {
  return fail('RequestEntityTooLarge', 413, `Request entity too large: limit is ${limitBytes}`);
}

/** Kubernetes clients retry after the given time. */
export function tooManyRequests(why: string): KubeError {
  return fail('TooManyRequests', 429, `too many requests, please try again later: ${why}`, {
    retryAfterSeconds: 1,
  });
}

export function bodyTimeout(limitMs: number): KubeError {
  return fail('Timeout', 408, `the body of the request did not arrive within ${limitMs / 1000} seconds`);
}

export function internalError(message: string): KubeError {
  return fail('InternalError', 500, `Internal error occurred: ${message}`, {
    causes: [{ message }],
  });
}

/** The revision of the next page is compacted: the client may continue, inconsistently, from `continueToken`. */
export class ExpiredContinueError extends KubeError {
  readonly continueToken: string;

  constructor(continueToken: string) {
    super({
      reason: 'Expired',
      code: 410,
      message:
        'The provided continue parameter is too old to display a consistent list result. You can start a new list ' +
        'without the continue parameter, or use the continue token in this response to retrieve the remainder of the ' +
        'results. Continuing with the provided token results in an inconsistent list - objects that were created, ' +
        'modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    });
    this.continueToken = continueToken;
  }
}

/** kubectl reads the details of these without looking whether there are any. */
const DETAILED: ReadonlySet<KubeErrorReason> = new Set([
  'NotFound',
  'MethodNotAllowed',
  'Invalid',
  'Forbidden',
]);

function hasDetails({ details, reason }: KubeError): boolean {
  return details === NO_DETAILS || DETAILED.has(reason) || Object.keys(details).length > 0;
}

/** The body of an error response. */
export function statusOf(error: KubeError): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: error instanceof ExpiredContinueError ? { continue: error.continueToken } : {},
    status: 'Failure',
    message: error.message,
    ...(error.reason === 'Unknown' ? {} : { reason: error.reason }),
    ...(hasDetails(error) ? { details: error.details } : {}),
    code: error.code,
  };
}

export function successStatus(details?: StatusDetails, code?: number): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    ...(details === undefined ? {} : { details }),
    ...(code === undefined ? {} : { code }),
  };
}
