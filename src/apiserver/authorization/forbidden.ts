// The text of a Forbidden error, in Kubernetes' words, for users and tools that match it.

import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Attributes } from '../pipeline.ts';

function sentence({ user, verb, group = '', plural, subresource, namespace, path }: Attributes): string {
  if (plural === undefined) return `User "${user.name}" cannot ${verb} path "${path ?? ''}"`;
  const resource = subresource ? `${plural}/${subresource}` : plural;
  const where = namespace ? `in the namespace "${namespace}"` : 'at the cluster scope';
  return `User "${user.name}" cannot ${verb} resource "${resource}" in API group "${group}" ${where}`;
}

export function forbidden(attributes: Attributes, reason?: string): KubeError {
  const { group = '', plural, name } = attributes;
  const detail = reason ? `${sentence(attributes)}: ${reason}` : sentence(attributes);
  const resource = plural === undefined ? '' : group ? `${plural}.${group}` : plural;
  const prefix = resource === '' ? 'forbidden' : `${resource}${name ? ` "${name}"` : ''} is forbidden`;
  return new KubeError({
    reason: 'Forbidden',
    code: 403,
    message: `${prefix}: ${detail}`,
    details: {
      ...(name ? { name } : {}),
      ...(group ? { group } : {}),
      ...(plural ? { kind: plural } : {}),
    },
  });
}
