// In which mode a driver serves a pod's inline `csi` volume. Admission, attach-detach and the node must all decide
// this the same way, or one would attach what another serves without attaching.

import type { CSIDriver, CSIVolumeSource } from './kinds.ts';
import { ANN_INLINE_HANDLES } from './well-known.ts';

export type InlineMode = 'Ephemeral' | 'Persistent';

/** Whether pods may name existing volumes of the driver. Asked when a pod is created, and never again. */
export function allowsInlineHandles(driver: CSIDriver | undefined): boolean {
  return driver?.metadata.annotations?.[ANN_INLINE_HANDLES] === 'allowed';
}

/** What the driver's object declares; persistent when it says nothing. */
function declaredModes(driver: CSIDriver): readonly string[] {
  const { volumeLifecycleModes, lifecycle } = driver.spec;
  if (volumeLifecycleModes?.length) return volumeLifecycleModes;
  return lifecycle === 'ephemeral' ? ['Ephemeral'] : ['Persistent'];
}

/**
 * The mode in which a driver serves this source; `driver` is its CSIDriver object, if there is one. A handle asks for
 * an existing volume, its absence for one that lives with the pod. A driver that declares only Ephemeral ignores the
 * handle, as the inline design has it. A driver without an object declares nothing, which means Persistent.
 */
export function inlineMode(
  source: CSIVolumeSource,
  driver: CSIDriver | undefined,
): InlineMode | { problem: string } {
  const modes = driver ? declaredModes(driver) : ['Persistent'];
  const known = modes.join(', ');
  if (source.volumeHandle) {
    if (modes.includes('Persistent')) return 'Persistent';
    if (modes.includes('Ephemeral')) return 'Ephemeral';
    return {
      problem: `driver ${source.driver} declares neither Persistent nor Ephemeral volumes (${known})`,
    };
  }
  if (modes.includes('Ephemeral')) return 'Ephemeral';
  const asked = `without volumeHandle this asks driver ${source.driver} for an ephemeral inline volume`;
  const remedy = 'give the volumeHandle of an existing volume';
  if (!driver) {
    return {
      problem:
        `${asked}, but no CSIDriver object ${source.driver} declares that it serves them; ${remedy}, or create that ` +
        'object with Ephemeral in volumeLifecycleModes',
    };
  }
  return {
    problem:
      `${asked}, but CSIDriver ${source.driver} declares only ${known} in volumeLifecycleModes; ${remedy}, or ` +
      'declare Ephemeral',
  };
}
