// What the parts of the provisioner share: its ports, its flags, and what is built from them once.

import type { LoopOptions } from '../../runtime/queue/create-loop.ts';
import type { ProcessPorts, SidecarPorts } from '../common/sidecar.ts';
import type { VolumeCalls } from './claims/volume-calls.ts';
import type { ProvisionerFlags } from './provisioner-flags.ts';
import type { ProvisionerMetrics } from './provisioner-metrics.ts';
import type { SourceGrants } from './sources/reference-grants.ts';
import type { TopologyIndex } from './topology/topology-index.ts';
import type { VolumesByHandle } from './volumes/volume-use.ts';

export type ProvisionerPorts = SidecarPorts & Pick<ProcessPorts, 'env' | 'namespace' | 'kubeWith'>;

export interface ProvisionerContext extends ProvisionerPorts {
  flags: ProvisionerFlags;
  /** With one provisioner per node: the node that it works for. */
  nodeName: string | undefined;
  /** Undefined when the driver has no topology, or its feature gate is off. */
  topology: TopologyIndex | undefined;
  calls: VolumeCalls;
  byHandle: VolumesByHandle;
  /** Which sources in other namespaces claims may use. */
  grants: SourceGrants;
  results: ProvisionerMetrics;
  loop: Omit<LoopOptions, 'name' | 'reconcile'>;
  /** The free capacity of a class has changed: a volume was created or deleted, or there was no room for one. */
  capacityChanged(className: string): void;
}
