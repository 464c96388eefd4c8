// Whether an account may list and watch a kind, by a SelfSubjectAccessReview.

import type { KubeObject, Resource } from '../../api/object.ts';
import type { KubeClient } from './kube.ts';

interface AccessReview extends KubeObject {
  spec: {
    resourceAttributes: {
      verb: string;
      group: string;
      version: string;
      resource: string;
      namespace?: string;
    };
  };
  status?: { allowed: boolean };
}

const selfSubjectAccessReviews: Resource<AccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  namespaced: false,
};

export async function mayFollow(
  kube: KubeClient,
  { group, version, plural }: Resource,
  namespace?: string,
): Promise<boolean> {
  const answers = await Promise.all(
    ['list', 'watch'].map((verb) =>
      kube.create(selfSubjectAccessReviews, {
        metadata: {},
        spec: {
          resourceAttributes: {
            verb,
            group,
            version,
            resource: plural,
            ...(namespace !== undefined && { namespace }),
          },
        },
      }),
    ),
  );
  return answers.every(({ status }) => status?.allowed === true);
}
