// Every pod runs under an existing service account, the namespace's default unless it names another, and its containers get
// that account's token.

import type { Pod } from '../../api/kinds.ts';
import { pods, serviceAccounts } from '../../api/kinds.ts';
import { isMirrorPod, refersToObjects } from '../authorization/node-references.ts';
import type { AdmissionPlugin, Reader } from '../pipeline.ts';
import { addApiAccess } from './api-access.ts';
import { isAbout, refuse } from './refuse.ts';

export function serviceAccount({ reader }: { reader: Reader }): AdmissionPlugin {
  return {
    name: 'ServiceAccount',
    mutate(request) {
      if (!isAbout(request, pods) || request.operation !== 'create' || request.subresource !== '') return;
      const pod = request.object as Pod | undefined;
      if (!pod?.spec) return;
      const { spec } = pod;
      // A mirror pod has no service account.
      if (isMirrorPod(pod)) {
        if (refersToObjects(pod)) {
          refuse(request, 'a mirror pod may not reference service accounts, secrets or other objects');
        }
        const projectsToken = spec.volumes?.some(({ projected }) =>
          projected?.sources?.some((source) => source.serviceAccountToken),
        );
        if (projectsToken) refuse(request, 'a mirror pod may not use ServiceAccountToken volume projections');
        return;
      }
      const name = spec.serviceAccountName || spec.serviceAccount || 'default';
      spec.serviceAccountName = name;
      spec.serviceAccount = name;
      const { namespace = '' } = request;
      const account = reader.get(serviceAccounts, { namespace, name });
      if (!account) {
        refuse(
          request,
          `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`,
        );
      }
      if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
        spec.imagePullSecrets = account.imagePullSecrets.map((secret) => ({ ...secret }));
      }
      addApiAccess(pod, account);
    },
  };
}
