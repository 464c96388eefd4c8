// Shorthands for a driver's gRPC errors, and the translation of operating system errors into them. Messages are shown
// in events on the claim: they say what is wrong and what to do.

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
  EPERM: ['FAILED_PRECONDITION', 'permission denied; run the driver as root, privileged'],
  EACCES: ['FAILED_PRECONDITION', 'permission denied; run the driver as root, and check who owns the path'],
  EROFS: [
    'FAILED_PRECONDITION',
    'the filesystem is read-only; remount it writable or choose another directory',
  ],
  EMFILE: ['RESOURCE_EXHAUSTED', 'too many open files; raise the limit of the driver process'],
  ENFILE: ['RESOURCE_EXHAUSTED', 'too many open files on this machine'],
  EBUSY: ['FAILED_PRECONDITION', 'still in use; the call is retried'],
  ENAMETOOLONG: ['INVALID_ARGUMENT', 'the path is too long; choose a shorter state or target directory'],
};

/** The error to return to the caller. A bug stays as it is: the server logs it in full and answers INTERNAL. */
export function presentSystemError(error: unknown, attempted: string): unknown {
  if (error instanceof CsiError) return error;
  const known = systemErrors[isStoreFull(error) ? 'ENOSPC' : (errorCode(error) ?? '')];
  if (known === undefined) {
    // Messages of other operating system errors are passed on; those of JavaScript exceptions are not.
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

/** SQLITE_FULL: SQLite has its own error numbers. */
function isStoreFull(error: unknown): boolean {
  return errorCode(error) === 'ERR_SQLITE_ERROR' && (error as { errcode?: unknown }).errcode === 13;
}
