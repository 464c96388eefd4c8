// A problem with a snapshot that a user or driver can correct: a missing class, an invalid reference, an invalid
// response. Its message is safe for events and statuses.

import { ExpectedError } from '../../runtime/expected-error.ts';

export class SnapshotProblem extends ExpectedError {
  override readonly name = 'SnapshotProblem';

  constructor(message: string) {
    super(message, undefined);
  }
}
