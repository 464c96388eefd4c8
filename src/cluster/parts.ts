// Which controllers and sidecars a cluster on this machine runs. A new one is one row here.

import { createAttachDetach } from '../control-plane/attach-detach/attach-detach.ts';
import { createBinder } from '../control-plane/binder/binder.ts';
import type { Controller, DiscoveringPorts } from '../control-plane/controller.ts';
import { createEphemeralClaims } from '../control-plane/ephemeral/ephemeral-claims.ts';
import { createGarbageCollector } from '../control-plane/garbage-collector/garbage-collector.ts';
import { createNamespaceController } from '../control-plane/namespace/namespace-controller.ts';
import { createPodGc } from '../control-plane/pod-gc/pod-gc.ts';
import { createClaimProtection } from '../control-plane/protection/claim-protection.ts';
import { createVolumeProtection } from '../control-plane/protection/volume-protection.ts';
import { attacherSidecar } from '../sidecars/attacher/attacher-sidecar.ts';
import { provisionerSidecar } from '../sidecars/provisioner/provisioner-sidecar.ts';
import type { ClusterController } from './control-plane-part.ts';
import type { ClusterSidecar } from './sidecars-part.ts';

export const clusterControllers: readonly ClusterController[] = [
  { name: 'binder', account: 'persistent-volume-binder', create: createBinder },
  { name: 'attach-detach', account: 'attachdetach-controller', create: createAttachDetach },
  { name: 'claim-protection', account: 'pvc-protection-controller', create: createClaimProtection },
  { name: 'volume-protection', account: 'pv-protection-controller', create: createVolumeProtection },
  { name: 'ephemeral-claims', account: 'ephemeral-volume-controller', create: createEphemeralClaims },
  { name: 'garbage-collector', account: 'generic-garbage-collector', create: createGarbageCollector },
  { name: 'namespace', account: 'namespace-controller', create: createNamespaceController },
  { name: 'pod-gc', account: 'pod-garbage-collector', create: createPodGc },
];

export const clusterScheduler = (_ports: DiscoveringPorts): Controller => ({
  name: 'scheduler',
  run: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
});

export const clusterSidecars: readonly ClusterSidecar[] = [
  {
    kind: { ...provisionerSidecar, name: 'provisioner' },
    suits: ({ controller }) => controller.has('CREATE_DELETE_VOLUME'),
  },
  // Also for drivers that do not attach: somebody must mark their attachments as done.
  { kind: { ...attacherSidecar, name: 'attacher' } },
];
