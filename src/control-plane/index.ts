// The table of controllers, by kube-controller-manager's names where it has the controller. The `controller-manager`
// command, the cluster in one process and the simulation are composed from it. The scheduler is a process of its own and
// not in it.

import { createAttachDetach } from './attach-detach/attach-detach.ts';
import { createBinder } from './binder/binder.ts';
import type { Controller, DiscoveringPorts } from './controller.ts';
import { createCsiDriverMapping } from './csi-driver-mapping/csi-driver-mapping.ts';
import { createEphemeralClaims } from './ephemeral/ephemeral-claims.ts';
import { createGarbageCollector } from './garbage-collector/garbage-collector.ts';
import { createNamespaceController } from './namespace/namespace-controller.ts';
import { createNodeLifecycle } from './node-lifecycle/node-lifecycle.ts';
import { createPodGc } from './pod-gc/pod-gc.ts';
import { createClaimProtection } from './protection/claim-protection.ts';
import { createClassProtection } from './protection/class-protection.ts';
import { createVolumeProtection } from './protection/volume-protection.ts';
import { createResourceQuota } from './resource-quota/resource-quota.ts';
import { createStatefulSetController } from './statefulset/statefulset-controller.ts';

export type { Controller, ControllerPorts, DiscoveringPorts } from './controller.ts';

export interface ControllerRow {
  readonly name: string;
  /** Its name in older releases, still accepted on the command line. */
  readonly alias: string;
  /** Its service account in kube-system. */
  readonly account: string;
  create(ports: DiscoveringPorts): Controller;
}

export const controllers: readonly ControllerRow[] = [
  {
    name: 'persistentvolume-binder-controller',
    alias: 'persistentvolume-binder',
    account: 'persistent-volume-binder',
    create: createBinder,
  },
  {
    name: 'persistentvolume-attach-detach-controller',
    alias: 'attachdetach',
    account: 'attachdetach-controller',
    create: createAttachDetach,
  },
  {
    name: 'persistentvolumeclaim-protection-controller',
    alias: 'pvc-protection',
    account: 'pvc-protection-controller',
    create: createClaimProtection,
  },
  {
    name: 'persistentvolume-protection-controller',
    alias: 'pv-protection',
    account: 'pv-protection-controller',
    create: createVolumeProtection,
  },
  {
    name: 'volumeattributesclass-protection-controller',
    alias: 'vac-protection',
    account: 'volumeattributesclass-protection-controller',
    create: createClassProtection,
  },
  {
    name: 'ephemeral-volume-controller',
    alias: 'ephemeral-volume',
    account: 'ephemeral-volume-controller',
    create: createEphemeralClaims,
  },
  {
    name: 'garbage-collector-controller',
    alias: 'garbagecollector',
    account: 'generic-garbage-collector',
    create: createGarbageCollector,
  },
  {
    name: 'namespace-controller',
    alias: 'namespace',
    account: 'namespace-controller',
    create: createNamespaceController,
  },
  {
    name: 'node-lifecycle-controller',
    alias: 'nodelifecycle',
    account: 'node-controller',
    create: createNodeLifecycle,
  },
  {
    name: 'pod-garbage-collector-controller',
    alias: 'podgc',
    account: 'pod-garbage-collector',
    create: createPodGc,
  },
  {
    name: 'resourcequota-controller',
    alias: 'resourcequota',
    account: 'resourcequota-controller',
    create: createResourceQuota,
  },
  {
    name: 'statefulset-controller',
    alias: 'statefulset',
    account: 'statefulset-controller',
    create: createStatefulSetController,
  },
  // Not in kube-controller-manager: the design documents' CSIDriver, mapped to today's.
  {
    name: 'csidriver-mapping-controller',
    alias: 'csidriver-mapping',
    account: 'csidriver-mapping-controller',
    create: createCsiDriverMapping,
  },
];
