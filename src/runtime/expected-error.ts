// An error that is somebody's answer and no fault of the code that got it: not found, in conflict, busy, refused. Where
// it was made tells nobody anything, and to write that down costs more than everything else about it.

export abstract class ExpectedError extends Error {
  constructor(message: string, cause: unknown) {
    const { stackTraceLimit } = Error;
    if (stackTraceLimit !== 0) Error.stackTraceLimit = 0;
    super(message, cause === undefined ? undefined : { cause });
    if (stackTraceLimit !== 0) Error.stackTraceLimit = stackTraceLimit;
  }
}
