// A pod may name a CSI driver inline only in a mode that the driver declares. Where the CSIDriver object is not known
// (yet), the node decides.

import type { CSIDriver, CSIVolumeSource, Pod } from '../../api/kinds.ts';
import { csiDrivers, pods } from '../../api/kinds.ts';
import type { AdmissionPlugin, Reader } from '../pipeline.ts';
import { isAbout, refuse } from './refuse.ts';

export type InlineMode = 'Ephemeral' | 'Persistent';

export function declaredModes(driver: CSIDriver): readonly string[] {
  const { volumeLifecycleModes, lifecycle } = driver.spec;
  if (volumeLifecycleModes?.length) return volumeLifecycleModes;
  return lifecycle === 'ephemeral' ? ['Ephemeral'] : ['Persistent'];
}

/**
 * The mode in which a driver serves this source. A handle asks for an existing volume, its absence for one that lives
 * with the pod; of a driver that only knows ephemeral volumes a handle is ignored, as the inline design has it.
 */
export function inlineMode(
  source: CSIVolumeSource,
  modes: readonly string[],
): InlineMode | { problem: string } {
  const known = modes.join(', ');
  if (source.volumeHandle) {
    if (modes.includes('Persistent')) return 'Persistent';
    if (modes.includes('Ephemeral')) return 'Ephemeral';
    return {
      problem: `driver ${source.driver} declares neither Persistent nor Ephemeral volumes (${known})`,
    };
  }
  if (modes.includes('Ephemeral')) return 'Ephemeral';
  return {
    problem:
      `without volumeHandle this asks driver ${source.driver} for an ephemeral inline volume, but its CSIDriver object ` +
      `declares only ${known} in volumeLifecycleModes; give the volumeHandle of an existing volume, or declare Ephemeral`,
  };
}

export function inlineVolume({ reader }: { reader: Reader }): AdmissionPlugin {
  return {
    name: 'CSIInlineVolume',
    validate(request) {
      if (!isAbout(request, pods) || request.operation !== 'create' || request.subresource !== '') return;
      const pod = request.object as Pod;
      for (const [index, { csi }] of (pod.spec.volumes ?? []).entries()) {
        const driver = csi && reader.get(csiDrivers, { name: csi.driver });
        if (!csi || !driver) continue;
        const mode = inlineMode(csi, declaredModes(driver));
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
