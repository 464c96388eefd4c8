// The text of admission's rejections, and predicates on admission requests.

import type { Resource } from '../../api/object.ts';
import { KubeError, type StatusCause } from '../../runtime/kube/kube-error.ts';
import type { AdmissionRequest } from '../pipeline.ts';

/** Throws Forbidden, in Kubernetes' words. */
export function refuse(request: AdmissionRequest, message: string, causes?: StatusCause[]): never {
  const { kind, name } = request;
  const resource = kind.group ? `${kind.plural}.${kind.group}` : kind.plural;
  throw new KubeError({
    reason: 'Forbidden',
    code: 403,
    message: `${resource}${name ? ` "${name}"` : ''} is forbidden: ${message}`,
    details: {
      ...(name ? { name } : {}),
      ...(kind.group ? { group: kind.group } : {}),
      kind: kind.plural,
      ...(causes ? { causes } : {}),
    },
  });
}

/** Whether the request is about this kind, in any of its versions. */
export function isAbout(request: AdmissionRequest, resource: Resource): boolean {
  return request.kind.plural === resource.plural && request.kind.group === resource.group;
}
