// Every pod runs under a service account that exists: the namespace's default unless it names another.

import type { Pod } from '../../api/kinds.ts';
import { pods, serviceAccounts } from '../../api/kinds.ts';
import type { AdmissionPlugin, Reader } from '../pipeline.ts';
import { isAbout, refuse } from './refuse.ts';

const MIRROR_POD = 'kubernetes.io/config.mirror';

export function serviceAccount({ reader }: { reader: Reader }): AdmissionPlugin {
  return {
    name: 'ServiceAccount',
    mutate(request) {
      if (!isAbout(request, pods) || request.operation !== 'create' || request.subresource !== '') return;
      const { spec, metadata } = (request.object ?? {}) as Partial<Pod>;
      if (!spec) return;
      // A mirror pod speaks for no account.
      if (metadata?.annotations?.[MIRROR_POD] !== undefined) {
        if (spec.serviceAccountName) refuse(request, 'a mirror pod may not reference service accounts');
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
    },
  };
}
