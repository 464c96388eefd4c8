// The one error of the Kubernetes port: a `Status` as the server sent it, or what stood in its way.
// Components ask `isNotFound(error)` and friends; nobody matches text.

import { ExpectedError } from '../expected-error.ts';

/** The reasons Kubernetes gives in a Status, and two of our own: `Unreachable` (no answer) and `BadAnswer`. */
export type KubeErrorReason =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Expired'
  | 'Invalid'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'UnsupportedMediaType'
  | 'RequestEntityTooLarge'
  | 'TooManyRequests'
  | 'InternalError'
  | 'ServiceUnavailable'
  | 'Timeout'
  | 'ServerTimeout'
  | 'Unreachable'
  | 'BadAnswer'
  | 'Unknown';

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

export class KubeError extends ExpectedError {
  override readonly name = 'KubeError';
  readonly reason: KubeErrorReason;
  /** HTTP status; 0 when there was no answer. */
  readonly code: number;
  readonly details: StatusDetails;

  constructor(init: {
    reason: KubeErrorReason;
    code: number;
    message: string;
    details?: StatusDetails;
    cause?: unknown;
  }) {
    super(init.message, init.cause);
    this.reason = init.reason;
    this.code = init.code;
    this.details = init.details ?? {};
  }
}

function has(error: unknown, ...reasons: KubeErrorReason[]): boolean {
  return error instanceof KubeError && reasons.includes(error.reason);
}

export const isNotFound = (error: unknown): boolean => has(error, 'NotFound');
export const isConflict = (error: unknown): boolean => has(error, 'Conflict');
export const isAlreadyExists = (error: unknown): boolean => has(error, 'AlreadyExists');
export const isForbidden = (error: unknown): boolean => has(error, 'Forbidden');
export const isInvalid = (error: unknown): boolean => has(error, 'Invalid');
export const isTooManyRequests = (error: unknown): boolean => has(error, 'TooManyRequests');
/** The resource version is too old to read or watch from: list again. */
export const isExpired = (error: unknown): boolean => has(error, 'Gone', 'Expired');
/** The server does not take the object as it is, and will say the same next time. */
export const isUnacceptable = (error: unknown): boolean =>
  has(error, 'Invalid', 'BadRequest', 'RequestEntityTooLarge');
/** The server answered that it did not do it: nothing was written. */
export const isRejected = (error: unknown): boolean =>
  error instanceof KubeError && error.code >= 400 && error.code < 500 && error.reason !== 'Timeout';
