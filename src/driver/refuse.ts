// Shorthands for the errors that a driver answers with, and the translation of what the operating system says into one of
// them. Messages are for whoever reads the event on the claim: what is wrong, and what to do.

import { CsiError, type GrpcCode } from '../csi/index.ts';
import { errorCode } from '../runtime/mount/mount-error.ts';

const refusal = (code: GrpcCode) => (message: string, cause?: unknown) =>
  new CsiError({ code, message, ...(cause === undefined ? {} : { cause }) });

/** `throw refuse.notFound('volume v1 does not exist')`. */
export const refuse = {
  invalidArgument: refusal('INVALID_ARGUMENT'),
  notFound: refusal('NOT_FOUND'),
  alreadyExists: refusal('ALREADY_EXISTS'),
  failedPrecondition: refusal('FAILED_PRECONDITION'),
  aborted: refusal('ABORTED'),
  outOfRange: refusal('OUT_OF_RANGE'),
  resourceExhausted: refusal('RESOURCE_EXHAUSTED'),
  unauthenticated: refusal('UNAUTHENTICATED'),
  unimplemented: refusal('UNIMPLEMENTED'),
  internal: refusal('INTERNAL'),
  unavailable: refusal('UNAVAILABLE'),
};

const systemErrors: Record<string, readonly [GrpcCode, string]> = {
  ENOSPC: [
    'RESOURCE_EXHAUSTED',
    'the disk is full; free some space or move the state directory to a larger one',
  ],
  EDQUOT: ['RESOURCE_EXHAUSTED', 'the disk quota is used up; raise it or delete volumes'],
  EPERM: ['FAILED_PRECONDITION', 'the driver is not allowed to; run it as root, privileged'],
  EACCES: [
    'FAILED_PRECONDITION',
    'the driver is not allowed to; run it as root, and check who owns the path',
  ],
  EROFS: [
    'FAILED_PRECONDITION',
    'the filesystem is read-only; remount it writable or choose another directory',
  ],
  EMFILE: ['RESOURCE_EXHAUSTED', 'too many open files; raise the limit of the driver process'],
  ENFILE: ['RESOURCE_EXHAUSTED', 'too many open files on this machine'],
  EBUSY: ['FAILED_PRECONDITION', 'something still uses it; it is tried again'],
  ENAMETOOLONG: ['INVALID_ARGUMENT', 'the path is too long; choose a shorter state or target directory'],
};

/** An error as the caller shall see it. A bug stays what it is: the server logs it whole and answers INTERNAL. */
export function presentSystemError(error: unknown, attempted: string): unknown {
  if (error instanceof CsiError) return error;
  const known = systemErrors[isStoreFull(error) ? 'ENOSPC' : (errorCode(error) ?? '')];
  if (known === undefined) {
    // Other errors of the operating system carry a message worth passing on; exceptions of the language do not.
    if (errorCode(error)?.startsWith('E') && !errorCode(error)?.startsWith('ERR_')) {
      return refuse.internal(`${attempted}: ${(error as Error).message}`, error);
    }
    return error;
  }
  const [code, advice] = known;
  return new CsiError({
    code,
    message: `${attempted}: ${(error as Error).message}: ${advice}`,
    cause: error,
  });
}

/** SQLITE_FULL: the state store has its own numbers. */
function isStoreFull(error: unknown): boolean {
  return errorCode(error) === 'ERR_SQLITE_ERROR' && (error as { errcode?: unknown }).errcode === 13;
}
