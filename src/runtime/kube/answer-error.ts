// Converts a failed request into a KubeError: a Status as the server sent it, an answer that is not a Status, or no answer. Messages name the request, the host, and what to do; never a header or a request body.

import { KubeError, type KubeErrorReason, type StatusDetails } from './kube-error.ts';

/** What was attempted, for messages. */
export interface Attempt {
  /** `GET /api/v1/pods`, without the query. */
  readonly what: string;
  readonly host: string;
  /** The configuration that led there. */
  readonly source: string;
}

interface Status {
  kind?: string;
  status?: string;
  reason?: string;
  message?: string;
  code?: number;
  details?: StatusDetails;
}

const REASONS: ReadonlySet<string> = new Set<KubeErrorReason>([
  'BadRequest',
  'Unauthorized',
  'Forbidden',
  'NotFound',
  'AlreadyExists',
  'Conflict',
  'Gone',
  'Expired',
  'Invalid',
  'MethodNotAllowed',
  'NotAcceptable',
  'UnsupportedMediaType',
  'RequestEntityTooLarge',
  'TooManyRequests',
  'InternalError',
  'ServiceUnavailable',
  'Timeout',
  'ServerTimeout',
]);

const BY_CODE: Readonly<Record<number, KubeErrorReason>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  502: 'ServiceUnavailable',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** TLS failures of the server's certificate, by Node's code. */
const CERTIFICATE_PROBLEMS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed and not the CA',
  SELF_SIGNED_CERT_IN_CHAIN: 'is signed by another CA than the one',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'is signed by another CA than the one',
  UNABLE_TO_GET_ISSUER_CERT: 'is signed by another CA than the one',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'is signed by another CA than the one',
  CERT_SIGNATURE_FAILURE: 'is signed by another CA of the same name than the one',
  CERT_HAS_EXPIRED: 'has expired; renew it. The CA is the one',
  CERT_NOT_YET_VALID: 'is not valid yet; check the clocks. The CA is the one',
};

export function errorFromStatus(status: Status, code = status.code ?? 0, retryAfter?: number): KubeError {
  const reason =
    status.reason && REASONS.has(status.reason) ? (status.reason as KubeErrorReason) : BY_CODE[code];
  return new KubeError({
    reason: reason ?? 'Unknown',
    code,
    message: status.message || `the server answered ${code} ${status.reason ?? ''}`.trim(),
    details: {
      ...status.details,
      ...(retryAfter === undefined ? {} : { retryAfterSeconds: retryAfter }),
    },
  });
}

/** An answer with a status other than 2xx. */
export function errorFromAnswer(
  answer: { status: number; headers: Readonly<Record<string, string | string[] | undefined>>; body: Buffer },
  attempt: Attempt,
): KubeError {
  const retryAfter = retryAfterSeconds(answer.headers);
  const parsed = tryParse(answer.body);
  if (isStatus(parsed)) {
    const error = errorFromStatus(parsed, answer.status, retryAfter);
    return answer.status === 401 ? unauthorized(error, attempt) : error;
  }
  const { status } = answer;
  const reason = BY_CODE[status] ?? 'Unknown';
  return new KubeError({
    reason,
    code: status,
    message: `${attempt.what}: ${attempt.host} answered ${status} with ${describe(answer)}${advice(answer, attempt)}`,
    ...(retryAfter === undefined ? {} : { details: { retryAfterSeconds: retryAfter } }),
  });
}

/** A 2xx answer whose body is not what was asked for. */
export function badAnswer(
  answer: { status: number; headers: Readonly<Record<string, string | string[] | undefined>>; body: Buffer },
  attempt: Attempt,
): KubeError {
  return new KubeError({
    reason: 'BadAnswer',
    code: answer.status,
    message: `${attempt.what}: ${attempt.host} answered ${answer.status} with ${describe(answer)}${advice(answer, attempt)}`,
  });
}

/** No answer, or one that broke off. */
export function errorFromFailure(error: unknown, attempt: Attempt): KubeError {
  if (error instanceof KubeError) return error;
  const { code = '', message = String(error) } = error as { code?: string; message?: string };
  const text = `${attempt.what}: ${explain(code, message, attempt)}`;
  return new KubeError({ reason: 'Unreachable', code: 0, message: text, cause: error });
}

/** Undefined when the header is absent or no number of seconds: Kubernetes sends no dates. */
export function retryAfterSeconds(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): number | undefined {
  const value = headers['retry-after'];
  if (typeof value !== 'string' || !/^\d{1,6}$/.test(value.trim())) return undefined;
  return Number(value);
}

function explain(code: string, message: string, { host, source }: Attempt): string {
  const certificate = CERTIFICATE_PROBLEMS[code];
  if (certificate !== undefined) return `the certificate of ${host} ${certificate} in ${source} (${code})`;
  switch (code) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `the certificate of ${host} is for another name; set tls-server-name in ${source} (${code})`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name of ${host}, given by ${source}, does not resolve (${code})`;
    case 'ECONNREFUSED':
      return `nothing listens at ${host}, given by ${source} (${code})`;
    case 'HTTP_CONNECT_TIMEOUT':
      return `${host}, given by ${source}, cannot be reached: no connection in time`;
    case 'HTTP_ANSWER_TIMEOUT':
      return `${host} accepted the request and did not answer in time`;
    case 'HTTP_SILENT':
      return `${host} stopped sending in the middle of its response`;
    case 'ECONNRESET':
    case 'EPIPE':
    case 'HTTP_CLOSED':
      return `the connection to ${host} broke off (${message})`;
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
      return `${host} does not speak TLS; is the server in ${source} http:// rather than https://? (${code})`;
    case 'HTTP_MALFORMED':
      return `${host} does not speak HTTP/1.1; is the server in ${source} https:// rather than http://? (${message})`;
    case 'HTTP_TOO_LARGE':
      return `${host} does not stop answering (${message})`;
    case 'HTTP_UNSENDABLE':
      return message;
  }
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_OSSL')) {
    return `TLS with ${host} failed; check the certificates in ${source} (${message})`;
  }
  return `${host} cannot be reached: ${message}${code === '' ? '' : ` (${code})`}`;
}

function unauthorized(error: KubeError, { host, source }: Attempt): KubeError {
  return new KubeError({
    reason: 'Unauthorized',
    code: 401,
    message: `${host} does not accept the credentials of ${source}: expired, or of another cluster (${error.message})`,
    details: error.details,
  });
}

function describe(answer: {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
}): string {
  const type = String(answer.headers['content-type'] ?? '').split(';')[0] || 'no content type';
  if (answer.body.length === 0) return 'an empty body';
  if (/html/i.test(type) || looksLikeHtml(answer.body)) return 'an HTML page';
  if (type === 'application/json') return `JSON that is cut off or broken (${answer.body.length} bytes)`;
  return `${type} instead of JSON`;
}

function advice(answer: { status: number; body: Buffer }, { source }: Attempt): string {
  if (answer.status === 401) return `; the credentials of ${source} were not accepted`;
  if (looksLikeHtml(answer.body)) {
    return `; is a proxy or another web server in front? The address comes from ${source}`;
  }
  return '';
}

function looksLikeHtml(body: Buffer): boolean {
  return /^\s*<(!doctype|html|head|body)/i.test(body.subarray(0, 100).toString('latin1'));
}

function tryParse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

export function isStatus(value: unknown): value is Status {
  return typeof value === 'object' && value !== null && (value as Status).kind === 'Status';
}
