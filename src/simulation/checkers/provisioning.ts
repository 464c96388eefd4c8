// One name for each claim, whatever happens; and what is asked for under it never changes.

import type { Checker, Rules } from './index.ts';

export function provisioningChecker({ violate }: Rules): Checker {
  const names = new Set<string>();
  const requests = new Map<string, string>();

  return (entry) => {
    if (entry.kind === 'api' && entry.plural === 'persistentvolumeclaims' && entry.after) {
      names.add(`pvc-${entry.after.metadata.uid}`);
    } else if (entry.kind === 'call' && entry.call.method === 'CreateVolume') {
      const { volume, rest } = entry.call;
      if (!names.has(volume)) violate('volume-name', `CreateVolume ${volume}: no claim has this UID`);
      const first = requests.get(volume);
      if (first !== undefined && first !== rest) {
        violate('changed-request', `CreateVolume ${volume} asks for ${rest}, before that for ${first}`);
      }
      requests.set(volume, rest);
    }
  };
}
