// Which controllers and sidecars a cluster on this machine runs. A new one is one row here.

import { controllers } from '../control-plane/index.ts';
import { attacherSidecar } from '../sidecars/attacher/attacher-sidecar.ts';
import { provisionerSidecar } from '../sidecars/provisioner/provisioner-sidecar.ts';
import { resizerSidecar } from '../sidecars/resizer/resizer-sidecar.ts';
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
  },
  // Also for drivers that do not attach: somebody must mark their attachments as done.
  { kind: { ...attacherSidecar, name: 'attacher' } },
  { kind: { ...resizerSidecar, name: 'resizer' } },
  { kind: { ...snapshotterSidecar, name: 'snapshotter' } },
];
