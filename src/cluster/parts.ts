// Which controllers and sidecars a cluster on this machine runs, and the sidecars' flags. A new one is one row here.

import { controllers } from '../control-plane/index.ts';
import type { FlagTable } from '../runtime/flags/flag.ts';
import { ownFlags } from '../sidecars/all/shared-flags.ts';
import { attacherSidecar } from '../sidecars/attacher/attacher-sidecar.ts';
import { healthMonitorSidecar } from '../sidecars/health-monitor/health-monitor-sidecar.ts';
import { provisionerSidecar } from '../sidecars/provisioner/provisioner-sidecar.ts';
import { resizerSidecar } from '../sidecars/resizer/resizer-sidecar.ts';
import { snapshotMetadataSidecar } from '../sidecars/snapshot-metadata/snapshot-metadata-sidecar.ts';
import { snapshotterSidecar } from '../sidecars/snapshotter/snapshotter-sidecar.ts';
import type { ClusterController } from './control-plane-part.ts';
import type { ClusterSidecar } from './sidecars-part.ts';

export const clusterControllers: readonly ClusterController[] = controllers.map(
  ({ alias, account, create }) => ({
    // `binder`: people read it in each line of a trace.
    name: alias.replace('persistentvolume-', ''),
    account,
    create,
  }),
);

export const clusterSidecars: readonly ClusterSidecar[] = [
  {
    kind: {
      ...provisionerSidecar,
      name: 'provisioner',
      // On its own it tells the claims why there is no volume; here no class names such a driver.
      suits: ({ controller }) => controller.has('CREATE_DELETE_VOLUME'),
    },
    adapt: (flags, { abilities, storageCapacity }) => ({
      ...flags,
      // The scheduler waits for capacity where CSIDriver says so; a driver that cannot say how much has none published.
      enableCapacity:
        (flags.enableCapacity === true || storageCapacity) && abilities.controller.has('GET_CAPACITY'),
      // There is no pod that could own the objects.
      capacityOwnerrefLevel: -1,
    }),
  },
  // Also for drivers that do not attach: somebody must mark their attachments as done.
  { kind: { ...attacherSidecar, name: 'attacher' } },
  { kind: { ...resizerSidecar, name: 'resizer' } },
  {
    kind: { ...snapshotterSidecar, name: 'snapshotter' },
    // The snapshot controller here has them on; what a driver cannot do is said on the object.
    adapt: (flags) => ({
      ...flags,
      featureGates: { ...(flags.featureGates as Record<string, boolean>), CSIVolumeGroupSnapshot: true },
    }),
  },
  {
    kind: { ...healthMonitorSidecar, name: 'health-monitor' },
    adapt: (flags) => ({ ...flags, enableNodeWatcher: true }),
  },
  {
    kind: { ...snapshotMetadataSidecar, name: 'snapshot-metadata' },
    runs: ({ serving }) => serving !== undefined,
    // One port each, any that is free: callers find it in the object.
    adapt: (flags, { serving }) => ({
      ...flags,
      port: 0,
      bindAddress: serving?.host,
      tlsCert: serving?.certificate,
      tlsKey: serving?.key,
      tlsCa: serving?.ca,
      serviceAddress: serving?.host,
    }),
  },
];

/** They speak of pods, nodes, connections and ports of a sidecar's own, which one process for all does not have. */
const NOT_HERE =
  /-(master|node-deployment|node-deployment-.*|kube-api-capacity-.*|capacity-ownerref-level|port|bind-address|tls-(cert|key|ca)|service-address)$/;

/** `--provisioner-strict-topology` and the like: what `berth sidecars` takes for one sidecar alone. */
export const sidecarFlags: FlagTable = Object.fromEntries(
  clusterSidecars
    .flatMap(({ kind }) => Object.entries(ownFlags(kind)))
    .filter(([name]) => !NOT_HERE.test(name))
    // They would be most of the help; `berth sidecars --help` shows them.
    .map(([name, flag]) => [name, { ...flag, hidden: true }]),
);
