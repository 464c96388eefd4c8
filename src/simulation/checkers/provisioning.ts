// A claim has one volume name, and what CreateVolume asks for under it never changes.

import type { Checker, Rules } from './index.ts';

export function provisioningChecker({ violate }: Rules): Checker {
  const names = new Set<string>();
  const requests = new Map<string, string>();

  return {
    api({ plural, after }) {
      if (plural === 'persistentvolumeclaims' && after) names.add(`pvc-${after.metadata.uid}`);
    },
    call({ call: { method, volume, rest } }) {
      if (method !== 'CreateVolume') return;
      if (!names.has(volume)) violate('volume-name', `CreateVolume ${volume}: no claim has this UID`);
      const first = requests.get(volume);
      if (first !== undefined && first !== rest) {
        violate('changed-request', `CreateVolume ${volume} asks for ${rest}, before that for ${first}`);
      }
      requests.set(volume, rest);
    },
  };
}
