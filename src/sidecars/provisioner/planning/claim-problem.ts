// Why a claim cannot be provisioned as it is, found before the driver is called. The message is for the user: it
// becomes an event and never holds a secret.

export class ClaimProblem extends Error {
  override readonly name = 'ClaimProblem';
  /** Only a change by the user helps, so retries use the maximum backoff. */
  readonly slow: boolean;
  /** The selected node cannot be used at all: the scheduler should choose another. */
  readonly reschedule: boolean;

  constructor(message: string, options: { slow?: boolean; reschedule?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.slow = options.slow ?? false;
    this.reschedule = options.reschedule ?? false;
  }
}

/** One that lasts until a user changes something. */
export function permanentProblem(message: string): ClaimProblem {
  return new ClaimProblem(message, { slow: true });
}
