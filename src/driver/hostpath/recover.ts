// Start-up: finishes or undoes what a process that died left in the middle. What another live process works on is locked
// by it, and left alone. Mounts are not touched here: the calls that made them are repeated, and repair them.

import type { HostpathCore } from './core.ts';
import { discardVolume, volumeLock } from './volume-operations.ts';

export async function recover(core: HostpathCore): Promise<void> {
  for (const { record } of core.records.volumes.list()) {
    if (record.state === 'ready') continue;
    await core.locks.ifFree(volumeLock(record.id), async () => {
      const current = core.records.volumes.get(record.id);
      if (current === undefined || current.state === 'ready') return;
      core.log.info('undoing what an earlier process left unfinished', {
        volume: current.id,
        state: current.state,
      });
      await discardVolume(core, current);
    });
  }
}
