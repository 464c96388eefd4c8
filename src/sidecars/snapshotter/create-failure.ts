// What a failed CreateSnapshot says about whether there is a snapshot that nobody has the handle of. Pure.

import { codeOf } from '../../csi/csi-error.ts';
import { isFinal, outcomeOf } from '../../csi/outcome.ts';
import type { GrpcCode } from '../../wire/grpc/grpc-code.ts';

/** What an earlier call, whose answer is not known, asked for. */
export type EarlierCall = 'none' | 'the same' | 'something else';

/**
 * Codes by which the driver says that the snapshot of this request is not there. The specification wants OK for a request
 * whose snapshot exists, so that a refusal of the request itself is an answer; a mishap (INTERNAL and the like) is none.
 */
const REFUSALS: ReadonlySet<GrpcCode> = new Set([
  'INVALID_ARGUMENT',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'OUT_OF_RANGE',
  'FAILED_PRECONDITION',
  'UNIMPLEMENTED',
]);

/** After an earlier call a final error says nothing about that one, unless both asked for the same and it is refused. */
export function provesNoSnapshot(error: unknown, earlier: EarlierCall): boolean {
  const code = codeOf(error);
  // What did not come from the driver says nothing.
  if (code === undefined || !isFinal(outcomeOf('CreateSnapshot', error))) return false;
  return earlier === 'none' || (earlier === 'the same' && REFUSALS.has(code));
}
