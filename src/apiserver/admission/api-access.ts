// The volume through which a container reaches the API server: a token, the server's CA and the pod's namespace, where
// in-cluster clients look for them.

import { createHash } from 'node:crypto';
import type { Pod, PodVolume, ServiceAccount } from '../../api/kinds.ts';
import { ROOT_CA } from '../bootstrap/root-ca.ts';

const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
const PREFIX = 'kube-api-access-';
/** An hour and seven seconds: Kubernetes' mark of a token that the admission plugin asked for. */
const TOKEN_SECONDS = 3607;
/** Octal 0644. */
const FILE_MODE = 0o644;

/** Whether the volume holds nothing but what `addApiAccess` puts there. */
export function isApiAccess({ projected }: PodVolume): boolean {
  const sources = projected?.sources ?? [];
  return (
    sources.some(({ serviceAccountToken }) => serviceAccountToken && !serviceAccountToken.audience) &&
    sources.every(
      ({ secret, configMap, clusterTrustBundle, serviceAccountToken }) =>
        !secret &&
        !clusterTrustBundle &&
        !serviceAccountToken?.audience &&
        (configMap?.name ?? ROOT_CA) === ROOT_CA,
    )
  );
}

/** In place. Containers that mount something there themselves are left alone. */
export function addApiAccess({ spec, metadata }: Pod, account: ServiceAccount): void {
  const wanted = spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
  if (!wanted) return;
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].filter(
    ({ volumeMounts = [] }) => !volumeMounts.some(({ mountPath }) => mountPath === MOUNT_PATH),
  );
  if (containers.length === 0) return;
  const present = spec.volumes?.find(({ name }) => name.startsWith(PREFIX));
  // From the pod's UID, so that a run from a seed gives the same names.
  const name = present?.name ?? PREFIX + suffixOf(metadata.uid ?? '');
  for (const container of containers) {
    container.volumeMounts = [
      ...(container.volumeMounts ?? []),
      { name, mountPath: MOUNT_PATH, readOnly: true },
    ];
  }
  if (present) return;
  spec.volumes = [
    ...(spec.volumes ?? []),
    {
      name,
      projected: {
        defaultMode: FILE_MODE,
        sources: [
          { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
          { configMap: { name: ROOT_CA, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
          {
            downwardAPI: {
              items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
            },
          },
        ],
      },
    },
  ];
}

const suffixOf = (uid: string): string => createHash('sha256').update(uid).digest('hex').slice(0, 5);
