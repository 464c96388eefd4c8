// Who calls, and whether they may read the snapshots of a namespace: TokenReview for the service's audience, then
// SubjectAccessReview for `get volumesnapshots`. Throws a CsiError with the code that the caller gets.

import { subjectAccessReviews, type TokenReview, tokenReviews } from '../../api/kinds.ts';
import { CsiError } from '../../csi/csi-error.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';

export interface Caller {
  token: string;
  /** That the token must be for. */
  audience: string;
  /** Whose snapshots are asked for. */
  namespace: string;
  signal: AbortSignal;
}

export async function authorizeCaller(kube: Pick<KubeClient, 'create'>, caller: Caller): Promise<void> {
  const user = await authenticate(kube, caller);
  const { namespace, signal } = caller;
  const review = await kube
    .create(
      subjectAccessReviews,
      {
        metadata: {},
        spec: {
          user: user.username ?? '',
          groups: user.groups ?? [],
          ...(user.uid !== undefined && { uid: user.uid }),
          ...(user.extra && { extra: user.extra }),
          resourceAttributes: {
            verb: 'get',
            group: 'snapshot.storage.k8s.io',
            version: 'v1',
            resource: 'volumesnapshots',
            namespace,
          },
        },
      },
      { signal },
    )
    .catch((error: unknown) => {
      throw new CsiError({
        code: 'INTERNAL',
        message: `cannot review whether ${user.username} may read snapshots: ${errorMessage(error)}`,
        cause: error,
      });
    });
  const { allowed, denied, reason } = review.status ?? {};
  if (allowed && !denied) return;
  throw new CsiError({
    code: 'PERMISSION_DENIED',
    message:
      `${user.username} may not get volumesnapshots in namespace ${namespace}${reason ? ` (${reason})` : ''}; ` +
      'bind a role that allows it',
  });
}

async function authenticate(
  kube: Pick<KubeClient, 'create'>,
  { token, audience, signal }: Caller,
): Promise<NonNullable<NonNullable<TokenReview['status']>['user']>> {
  const { status = {} } = await kube
    .create(tokenReviews, { metadata: {}, spec: { token, audiences: [audience] } }, { signal })
    .catch((error: unknown) => {
      throw new CsiError({
        code: 'INTERNAL',
        message: `cannot review the security token: ${errorMessage(error)}`,
        cause: error,
      });
    });
  // An authenticator that knows no audiences authenticates tokens for any.
  if (status.authenticated && status.user && status.audiences?.includes(audience)) return status.user;
  throw new CsiError({
    code: 'UNAUTHENTICATED',
    message:
      `the security token is not valid for audience ${audience}${status.error ? `: ${status.error}` : ''}; ` +
      'request one with the audience of the SnapshotMetadataService',
  });
}
