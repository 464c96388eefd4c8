// NodeExpandVolume: resizes the mounted filesystem after the controller expanded the volume.

import { quantityToBytes } from '../../api/quantity.ts';
import { needsStaging } from './mount-device.ts';
import { type MountPorts, type NodeDriver, nodeClient, secretsFor } from './mount-plugin.ts';
import type { MountableVolume } from './mountable-volume.ts';
import { nodeCapability } from './node-capability.ts';

export async function expandVolume(
  ports: MountPorts,
  request: { volume: MountableVolume; driver: NodeDriver; podUid: string; capacity: string },
  signal: AbortSignal,
): Promise<void> {
  const { volume, driver, podUid } = request;
  const secrets = await secretsFor(ports, volume.secrets.expand, signal);
  signal.throwIfAborted();
  await nodeClient(driver).nodeExpandVolume(
    {
      volumeId: volume.handle,
      volumePath: ports.paths.mount(podUid, volume).target,
      capacityRange: { requiredBytes: quantityToBytes(request.capacity), limitBytes: 0n },
      stagingTargetPath: needsStaging(driver, volume) ? ports.paths.device(volume).staging : '',
      volumeCapability: nodeCapability(volume, driver),
      secrets: secrets?.reveal() ?? {},
    },
    { signal },
  );
}
