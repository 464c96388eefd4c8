// What a server's handler is told of a call.

/** What a handler knows of the call beside the request. */
export interface CallContext {
  /** Aborts when the caller gave up, its deadline passed, or the server stops without waiting any longer. */
  readonly signal: AbortSignal;
  /** When the caller stops waiting, in wall-clock milliseconds; undefined when it waits for ever. */
  readonly deadline: number | undefined;
  readonly peer: string;
}
