// ControllerModifyVolume: mutable parameters. hostpath only stores them, which is enough to verify that they arrive.

import type { ControllerOperations } from '../../driver.ts';
import { checkSecrets, existingVolume, type HostpathCore } from '../core.ts';
import { checkMutableParameters } from './plan-volume.ts';

export function modifyVolume(
  core: HostpathCore,
): NonNullable<ControllerOperations['controllerModifyVolume']> {
  return (request) => {
    checkSecrets(core, request.secrets);
    core.store.transaction(() => {
      const volume = existingVolume(core, request.volumeId);
      checkMutableParameters(request.mutableParameters, core.mutableParameters);
      core.records.volumes.put(volume.id, {
        ...volume,
        mutableParameters: { ...volume.mutableParameters, ...request.mutableParameters },
      });
    });
    return {};
  };
}
