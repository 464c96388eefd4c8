// A pod may use a CSI driver inline only in a lifecycle mode that the driver declares, and an existing volume by its
// handle only where the CSIDriver object allows it. Without a CSIDriver object the node decides about the mode.

import { allowsInlineHandles, inlineMode } from '../../api/inline-volumes.ts';
import { csiDrivers, type Pod, pods } from '../../api/kinds.ts';
import { ANN_INLINE_HANDLES } from '../../api/well-known.ts';
import type { AdmissionPlugin, Reader } from '../pipeline.ts';
import { isAbout, refuse } from './refuse.ts';

export function inlineVolume({ reader }: { reader: Reader }): AdmissionPlugin {
  return {
    name: 'CSIInlineVolume',
    validate(request) {
      if (!isAbout(request, pods) || request.operation !== 'create' || request.subresource !== '') return;
      const pod = request.object as Pod;
      for (const [index, { csi }] of (pod.spec.volumes ?? []).entries()) {
        if (!csi) continue;
        const driver = reader.get(csiDrivers, { name: csi.driver });
        const mode = inlineMode(csi, driver);
        if (mode === 'Persistent' && !allowsInlineHandles(driver)) {
          refuse(request, `spec.volumes[${index}].csi.volumeHandle: ${notAllowed(csi.driver)}`);
        }
        if (!driver) continue;
        if (typeof mode === 'object') refuse(request, `spec.volumes[${index}].csi: ${mode.problem}`);
        if (mode === 'Ephemeral' && csi.volumeHandle) {
          request.warn(
            `spec.volumes[${index}].csi.volumeHandle is ignored: driver ${csi.driver} serves ephemeral inline volumes only`,
          );
        }
      }
    },
  };
}

function notAllowed(driver: string): string {
  return (
    `driver ${driver} does not let pods name its volumes by their handle, or anyone who may create pods could mount any of ` +
    `them; use a PersistentVolumeClaim, or have an administrator set the annotation ${ANN_INLINE_HANDLES}=allowed on ` +
    `CSIDriver ${driver} (\`berth up --allow-inline-handles\` does)`
  );
}
