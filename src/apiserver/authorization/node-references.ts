// Which objects a pod or a volume refers to that its node must read. Exactly what a kubelet needs: of a CSI volume's
// secrets those for staging, publishing and expanding on the node, never those for the controller.

import type { PersistentVolume, Pod } from '../../api/kinds.ts';
import { claimNameOf } from '../../api/volumes.ts';

interface NamedReference {
  name?: string;
}
interface Environment {
  env?: { valueFrom?: { secretKeyRef?: NamedReference; configMapKeyRef?: NamedReference } }[];
  envFrom?: { secretRef?: NamedReference; configMapRef?: NamedReference }[];
}

export const MIRROR_POD = 'kubernetes.io/config.mirror';

export interface PodReference {
  kind: 'secret' | 'configmap' | 'serviceaccount';
  /** namespace/name. */
  key: string;
}

/** A mirror pod is created by the node itself and must not extend what that node may read. */
export const isMirrorPod = (pod: { metadata: { annotations?: Record<string, string> } }): boolean =>
  pod.metadata.annotations?.[MIRROR_POD] !== undefined;

/** Whether the pod names any other object, mirror or not. */
export function refersToObjects(pod: Pod): boolean {
  const ordinary: Pod = { ...pod, metadata: { ...pod.metadata, annotations: {} } };
  return podReferences(ordinary).length > 0 || claimsOf(ordinary).length > 0;
}

/** References without duplicates. */
export function podReferences(pod: Pod): PodReference[] {
  if (isMirrorPod(pod)) return [];
  const found = new Map<string, PodReference>();
  const add = (kind: PodReference['kind'], reference: string | NamedReference | undefined) => {
    const name = typeof reference === 'string' ? reference : reference?.name;
    if (!name) return;
    const key = `${pod.metadata.namespace}/${name}`;
    found.set(`${kind} ${key}`, { kind, key });
  };
  const { spec } = pod;
  add('serviceaccount', spec.serviceAccountName);
  for (const secret of spec.imagePullSecrets ?? []) add('secret', secret);

  const containers: Environment[] = [
    ...(spec.containers ?? []),
    ...(spec.initContainers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  for (const { env, envFrom } of containers) {
    for (const { valueFrom } of env ?? []) {
      add('secret', valueFrom?.secretKeyRef);
      add('configmap', valueFrom?.configMapKeyRef);
    }
    for (const { secretRef, configMapRef } of envFrom ?? []) {
      add('secret', secretRef);
      add('configmap', configMapRef);
    }
  }

  for (const volume of spec.volumes ?? []) {
    add('secret', volume.secret?.secretName);
    add('configmap', volume.configMap);
    add('secret', volume.csi?.nodePublishSecretRef);
    add('secret', volume.csi?.nodeStageSecretRef);
    for (const { secret, configMap } of volume.projected?.sources ?? []) {
      add('secret', secret);
      add('configmap', configMap);
    }
  }
  return [...found.values()];
}

/** Claims that the pod mounts, including those of its ephemeral volumes: namespace/name, without duplicates. */
export function claimsOf(pod: Pod): string[] {
  if (isMirrorPod(pod)) return [];
  const claims = new Set<string>();
  for (const volume of pod.spec.volumes ?? []) {
    const name = claimNameOf(pod, volume);
    if (name) claims.add(`${pod.metadata.namespace}/${name}`);
  }
  return [...claims];
}

/** namespace/name of the secrets that a node needs to mount this volume, without duplicates. */
export function secretsOfVolume({ spec }: PersistentVolume): string[] {
  const { nodeStageSecretRef, nodePublishSecretRef, nodeExpandSecretRef } = spec.csi ?? {};
  const keys = new Set<string>();
  for (const reference of [nodeStageSecretRef, nodePublishSecretRef, nodeExpandSecretRef]) {
    const namespace = reference?.namespace ?? spec.claimRef?.namespace;
    if (reference?.name && namespace) keys.add(`${namespace}/${reference.name}`);
  }
  return [...keys];
}
