// The objects that `berth demo` creates.

import type { PersistentVolumeClaim, Pod, PodSpec, Secret, StorageClass } from '../api/kinds.ts';
import type { Draft } from '../api/object.ts';

export const NAMESPACE = 'default';

export function claim(
  name: string,
  spec: { class: string; mode?: string; size?: string },
): Draft<PersistentVolumeClaim> {
  return {
    metadata: { name, namespace: NAMESPACE },
    spec: {
      storageClassName: spec.class,
      accessModes: [spec.mode ?? 'ReadWriteOnce'],
      resources: { requests: { storage: spec.size ?? '64Mi' } },
    },
  };
}

type Volume = NonNullable<PodSpec['volumes']>[number];

export const fromClaim = (claimName: string): Volume => ({
  name: 'data',
  persistentVolumeClaim: { claimName },
});

export function pod(name: string, volume: Volume, spec: Partial<PodSpec> = {}): Draft<Pod> {
  return {
    metadata: { name, namespace: NAMESPACE },
    spec: {
      containers: [
        { name: 'main', image: 'busybox', volumeMounts: [{ name: volume.name, mountPath: '/data' }] },
      ],
      volumes: [volume],
      terminationGracePeriodSeconds: 1,
      ...spec,
    },
  };
}

export const onNode = (name: string): Partial<PodSpec> => ({
  nodeSelector: { 'kubernetes.io/hostname': name },
});

export function secret(name: string, data: Readonly<Record<string, string>>): Draft<Secret> {
  return {
    metadata: { name, namespace: NAMESPACE },
    type: 'Opaque',
    stringData: { ...data },
  } as Draft<Secret>;
}

/** A class with one secret for CreateVolume and another for NodePublishVolume. */
export function classWithSecrets(name: string, provisioner: string): Draft<StorageClass> {
  return {
    metadata: { name },
    provisioner,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'Immediate',
    parameters: {
      'csi.storage.k8s.io/provisioner-secret-name': 'making',
      'csi.storage.k8s.io/provisioner-secret-namespace': NAMESPACE,
      'csi.storage.k8s.io/node-publish-secret-name': 'publishing',
      'csi.storage.k8s.io/node-publish-secret-namespace': NAMESPACE,
    },
  };
}
