// Test support: builders of the control plane's objects.

import type { PersistentVolume, PersistentVolumeClaim, Pod, PodSpec } from '../../api/kinds.ts';
import type { Draft, Metadata } from '../../api/object.ts';

export function volume(
  name: string,
  spec: Partial<PersistentVolume['spec']> = {},
  metadata: Partial<Metadata> = {},
): Draft<PersistentVolume> {
  return {
    metadata: { name, ...metadata },
    spec: {
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'manual',
      persistentVolumeReclaimPolicy: 'Retain',
      csi: { driver: 'd', volumeHandle: name },
      ...spec,
    },
  };
}

export function claim(
  name: string,
  spec: Partial<PersistentVolumeClaim['spec']> = {},
  metadata: Partial<Metadata> = {},
): Draft<PersistentVolumeClaim> {
  return {
    metadata: { name, namespace: 'default', ...metadata },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'manual',
      resources: { requests: { storage: '1Gi' } },
      ...spec,
    },
  };
}

/** Uses the claim `data` by default. */
export function pod(name: string, spec: Partial<PodSpec> = {}, metadata: Partial<Metadata> = {}): Draft<Pod> {
  return {
    metadata: { name, namespace: 'default', ...metadata },
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }],
      ...spec,
    },
  };
}
