// NodeStageVolume: makes a volume usable on this node, once for all pods. The record is written before the
// call to the driver, so that everything after it can be undone.

import type { Pod } from '../../api/kinds.ts';
import { type MountPorts, type NodeDriver, nodeClient, secretsFor } from './mount-plugin.ts';
import type { MountableVolume } from './mountable-volume.ts';
import { nodeCapability } from './node-capability.ts';
import { stageAttributes } from './publish-attributes.ts';
import { RECORD_FILE } from './volume-paths.ts';
import { recordOf, recordText } from './volume-record.ts';

export interface MountDeviceRequest {
  volume: MountableVolume;
  /** The first pod: the driver gets its fsGroup. */
  pod: Pod;
  driver: NodeDriver;
  publishContext: Readonly<Record<string, string>>;
  /** Called right before the driver: from here on the volume may be staged, even if the call fails. */
  begins: () => void;
}

export function needsStaging(driver: NodeDriver, volume: Pick<MountableVolume, 'lifecycle'>): boolean {
  return volume.lifecycle === 'Persistent' && driver.capabilities.has('STAGE_UNSTAGE_VOLUME');
}

export async function mountDevice(
  ports: MountPorts,
  request: MountDeviceRequest,
  signal: AbortSignal,
): Promise<void> {
  const { volume, driver, publishContext } = request;
  const { files, paths } = ports;
  const { staging, recordDir } = paths.device(volume);
  const secrets = await secretsFor(ports, volume.secrets.stage, signal);
  const capability = nodeCapability(volume, driver, request.pod);
  await files.makeDirectory(recordDir);
  await files.writeRecord(`${recordDir}/${RECORD_FILE}`, recordText(recordOf(volume, ports.nodeName)));
  if ((await ports.mounter.inspect(staging)) !== 'mounted') await files.makeDirectory(staging);
  signal.throwIfAborted();
  request.begins();
  await nodeClient(driver).nodeStageVolume(
    {
      volumeId: volume.handle,
      publishContext: { ...publishContext },
      stagingTargetPath: staging,
      volumeCapability: capability,
      secrets: secrets?.reveal() ?? {},
      volumeContext: stageAttributes(volume),
    },
    { signal },
  );
}
