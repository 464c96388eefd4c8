// Rejects creation in a namespace that is missing or being deleted, and deletion of the namespaces that every cluster
// needs.

import { namespaces } from '../../api/kinds.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { AdmissionPlugin, AdmissionRequest, Reader } from '../pipeline.ts';
import { isAbout, refuse } from './refuse.ts';

/** Kubernetes' three, and the one that holds the nodes' leases. */
const IMMORTAL = new Set(['default', 'kube-system', 'kube-public', 'kube-node-lease']);

export function namespaceLifecycle({ reader }: { reader: Reader }): AdmissionPlugin {
  const check = (request: AdmissionRequest): void => {
    const { operation, namespace } = request;
    if (isAbout(request, namespaces)) {
      if (operation === 'delete' && IMMORTAL.has(request.name))
        refuse(request, 'this namespace may not be deleted');
      return;
    }
    // Updates and deletions are needed to empty a namespace.
    if (operation !== 'create' || !namespace) return;
    const found = reader.get(namespaces, { name: namespace });
    if (!found) {
      throw new KubeError({
        reason: 'NotFound',
        code: 404,
        message: `namespaces "${namespace}" not found`,
        details: { name: namespace, kind: 'namespaces' },
      });
    }
    // Subresources of existing objects (binding, eviction, token) add no content.
    if (request.subresource !== '') return;
    if (found.status?.phase === 'Terminating' || found.metadata.deletionTimestamp !== undefined) {
      refuse(
        request,
        `unable to create new content in namespace ${namespace} because it is being terminated`,
        [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${namespace} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      );
    }
  };
  return { name: 'NamespaceLifecycle', mutate: check };
}
