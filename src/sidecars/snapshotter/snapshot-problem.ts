// What stands in the way of a snapshot and somebody can change: a class that is not there, a reference that is wrong, an
// answer that makes no sense. Fit for events and statuses.

import { ExpectedError } from '../../runtime/expected-error.ts';

export class SnapshotProblem extends ExpectedError {
  override readonly name = 'SnapshotProblem';

  constructor(message: string) {
    super(message, undefined);
  }
}
