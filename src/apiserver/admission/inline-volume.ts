// A pod may name a CSI driver inline only in a mode that the driver declares. Where the CSIDriver object is not known
// (yet), the node decides.

import { inlineMode } from '../../api/inline-volumes.ts';
import { csiDrivers, type Pod, pods } from '../../api/kinds.ts';
import type { AdmissionPlugin, Reader } from '../pipeline.ts';
import { isAbout, refuse } from './refuse.ts';

export function inlineVolume({ reader }: { reader: Reader }): AdmissionPlugin {
  return {
    name: 'CSIInlineVolume',
    validate(request) {
      if (!isAbout(request, pods) || request.operation !== 'create' || request.subresource !== '') return;
      const pod = request.object as Pod;
      for (const [index, { csi }] of (pod.spec.volumes ?? []).entries()) {
        const driver = csi && reader.get(csiDrivers, { name: csi.driver });
        if (!csi || !driver) continue;
        const mode = inlineMode(csi, driver);
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
