// In which mode a driver serves a pod's inline `csi` volume. Admission, attach-detach and the node must all decide
// this the same way, or one would attach what another serves without attaching.

import type { CSIDriver, CSIVolumeSource } from './kinds.ts';

export type InlineMode = 'Ephemeral' | 'Persistent';

/** What the driver's object declares; persistent when it says nothing. */
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
