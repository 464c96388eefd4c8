// The status of a volume: the nodes it is published to, and its condition.

import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import type { HostpathCore } from '../core.ts';
import type { VolumeRecord } from '../state/records.ts';

export interface Condition {
  abnormal: boolean;
  message: string;
}

export function publishedNodeIds({ records }: HostpathCore, volumeId: VolumeHandle): string[] {
  return records.attachments.findAll('volume', volumeId).map(({ record }) => record.nodeId);
}

/** The condition of the volume's storage, as the controller sees it. */
export async function conditionOf(core: HostpathCore, volume: VolumeRecord): Promise<Condition> {
  const path = core.layout.volume(volume.id);
  const wanted = volume.backing === 'directory' ? 'directory' : 'file';
  const found = await core.files.kindOf(path);
  if (found !== wanted) {
    return {
      abnormal: true,
      message: `the volume's ${volume.backing} ${found === 'absent' ? 'is gone' : `is a ${found}`}; restore it from a snapshot`,
    };
  }
  const mark = core.layout.ill(volume.id);
  if ((await core.files.kindOf(mark)) === 'file') {
    return { abnormal: true, message: `the volume is marked as ill; remove ${mark} to end that` };
  }
  return { abnormal: false, message: 'the volume is healthy' };
}
