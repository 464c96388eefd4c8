// Mounts for a recording in the place of a driver: an empty filesystem at each path where a volume is published. It holds nothing that
// the recorded volume had.

import { mkdir, rmdir } from 'node:fs/promises';
import type { Mounter } from '../../runtime/mount/mounter.ts';
import type { DescMethod, Message } from '../../wire/protobuf/descriptor.ts';

type Publish = Message & { targetPath?: string; volumeCapability?: { accessType?: { case?: string } } };

export interface PlaceholderMounts {
  perform(method: DescMethod, request: Message): Promise<void>;
  /** Takes away what is still mounted. */
  end(): Promise<void>;
}

export function placeholderMounts(mounter: Mounter): PlaceholderMounts {
  const mounted = new Set<string>();
  const remove = async (path: string): Promise<void> => {
    await mounter.unmount(path);
    mounted.delete(path);
    // Empty, or not ours.
    await rmdir(path).catch(() => {});
  };
  return {
    async perform({ name }, request) {
      const { targetPath = '', volumeCapability } = request as Publish;
      if (targetPath === '' || volumeCapability?.accessType?.case === 'block') return;
      if (name === 'NodePublishVolume' && !(await mounter.isMountPoint(targetPath))) {
        await mkdir(targetPath, { recursive: true });
        const options = ['size=1m', 'mode=0777'];
        await mounter.mount({ source: 'berth-replay', target: targetPath, fsType: 'tmpfs', options });
        mounted.add(targetPath);
      } else if (name === 'NodeUnpublishVolume') await remove(targetPath);
    },
    async end() {
      for (const path of mounted) await remove(path);
    },
  };
}
