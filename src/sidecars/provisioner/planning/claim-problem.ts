// Why a claim cannot be provisioned as it stands, found before the driver is asked. The message is for the user: it
// becomes an event and never holds a secret.

export class ClaimProblem extends Error {
  override readonly name = 'ClaimProblem';
  /** Only somebody's change can help, so it is looked at again at the slowest pace. */
  readonly slow: boolean;
  /** The selected node cannot be used at all: the scheduler should choose another. */
  readonly reschedule: boolean;

  constructor(message: string, options: { slow?: boolean; reschedule?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.slow = options.slow ?? false;
    this.reschedule = options.reschedule ?? false;
  }
}
