// An error that is a peer's answer rather than a bug: not found, conflict, busy, rejected. It has no stack trace: the place
// where it was created says nothing, and capturing a stack costs more than the rest of the error.

export abstract class ExpectedError extends Error {
  constructor(message: string, cause: unknown) {
    const { stackTraceLimit } = Error;
    if (stackTraceLimit !== 0) Error.stackTraceLimit = 0;
    super(message, cause === undefined ? undefined : { cause });
    if (stackTraceLimit !== 0) Error.stackTraceLimit = stackTraceLimit;
  }
}
