// Which failures of an attach or detach the user can act on. Those go into the status and an Event; all others are only
// logged and retried.

import { CsiError } from '../../csi/csi-error.ts';
import { AccessModeError } from '../../csi/messages/volume-capability.ts';
import { isInvalid } from '../../runtime/kube/kube-error.ts';
import { SecretError } from '../common/read-secret.ts';

export class AttachmentProblem extends Error {
  override readonly name = 'AttachmentProblem';
}

export function concernsUser(error: unknown): error is Error {
  return (
    error instanceof CsiError ||
    error instanceof SecretError ||
    error instanceof AccessModeError ||
    error instanceof AttachmentProblem ||
    // The API server rejects what the driver answered, for example metadata that is too large.
    isInvalid(error)
  );
}
