// NodePublishVolume at a path of one pod and one volume. The record is on disk before the driver is called. Afterwards
// the mount is verified: some drivers report success without one.

import type { CSIDriver, Pod } from '../../api/kinds.ts';
import { KEY_SERVICE_ACCOUNT_TOKENS } from '../../api/well-known.ts';
import { planFsGroup } from './fs-group.ts';
import { needsStaging } from './mount-device.ts';
import {
  MountMissingError,
  type MountPorts,
  type NodeDriver,
  nodeClient,
  secretsFor,
} from './mount-plugin.ts';
import type { MountableVolume } from './mountable-volume.ts';
import { nodeCapability } from './node-capability.ts';
import { publishAttributes } from './publish-attributes.ts';
import { UnsafePathError } from './volume-files.ts';
import { RECORD_FILE } from './volume-paths.ts';
import { recordOf, recordText } from './volume-record.ts';

export interface SetUpRequest {
  pod: Pod;
  volume: MountableVolume;
  /** Requested by the pod; the volume may also be read-only itself. */
  readOnly: boolean;
  driver: NodeDriver;
  /** The CSIDriver object, if there is one. */
  driverObject: CSIDriver | undefined;
  publishContext: Readonly<Record<string, string>>;
  /** For requiresRepublish: it is already mounted. */
  again: boolean;
  /** Called right before the driver: from here on the volume may be published, even if the call fails. */
  begins: () => void;
}

/** Resolves with the path. */
export async function setUp(ports: MountPorts, request: SetUpRequest, signal: AbortSignal): Promise<string> {
  const { pod, volume, driver, driverObject } = request;
  const { target } = ports.paths.mount(pod.metadata.uid, volume);
  const readOnly = request.readOnly || volume.readOnly;
  const fsGroup = planFsGroup({
    pod,
    volume,
    readOnly,
    driver: driverObject,
    mountsGroup: driver.capabilities.has('VOLUME_MOUNT_GROUP'),
  });
  const secrets = (await secretsFor(ports, volume.secrets.publish, signal))?.reveal() ?? {};
  const tokens = (await ports.tokens.forPod(pod, driverObject, signal))?.reveal();
  const inSecrets = driverObject?.spec.serviceAccountTokenInSecrets === true;
  await preparePath(ports, request, target);
  signal.throwIfAborted();
  request.begins();
  await nodeClient(driver).nodePublishVolume(
    {
      volumeId: volume.handle,
      publishContext: { ...request.publishContext },
      stagingTargetPath: needsStaging(driver, volume) ? ports.paths.device(volume).staging : '',
      targetPath: target,
      volumeCapability: nodeCapability(volume, driver, pod),
      readonly: readOnly,
      secrets:
        inSecrets && tokens !== undefined ? { ...secrets, [KEY_SERVICE_ACCOUNT_TOKENS]: tokens } : secrets,
      volumeContext: publishAttributes(volume, pod, {
        podInfo: driver.wantsPodInfo || driverObject?.spec.podInfoOnMount === true,
        tokens: inSecrets ? undefined : tokens,
      }),
    },
    { signal },
  );
  signal.throwIfAborted();
  await checkMounted(ports, volume, target);
  if (fsGroup.by === 'node' && !request.again) await ports.files.changeGroup(target, fsGroup, signal);
  return target;
}

/** Creates the parents of the target; the driver creates the target itself. */
async function preparePath(ports: MountPorts, { pod, volume }: SetUpRequest, target: string): Promise<void> {
  const { files, paths, mounter } = ports;
  const { parent, recordDir } = paths.mount(pod.metadata.uid, volume);
  await files.makeDirectory(recordDir);
  if (parent !== recordDir) await files.makeDirectory(parent);
  const state = await mounter.inspect(target);
  if (state === 'plain' || state === 'corrupted') {
    // stat fails on a mount point whose filesystem is dead.
    const kind = await files.kindOf(target).catch(() => 'directory' as const);
    const wanted = volume.block ? 'file' : 'directory';
    const isFine = kind === 'absent' || kind === wanted || (volume.block && kind === 'device');
    if (!isFine) {
      throw new UnsafePathError(
        `the target path ${target} should be a ${wanted} or not exist, and is a ${kind}; it is left alone, move it away`,
      );
    }
  }
  await files.writeRecord(
    `${recordDir}/${RECORD_FILE}`,
    recordText(recordOf(volume, ports.nodeName, pod.metadata.uid)),
  );
}

async function checkMounted(ports: MountPorts, volume: MountableVolume, target: string): Promise<void> {
  const state = await ports.mounter.inspect(target);
  if (state === 'mounted') return;
  if (volume.block && state === 'plain' && (await ports.files.kindOf(target)) === 'device') return;
  throw new MountMissingError(
    `driver ${volume.driver} answered that volume ${volume.handle} is published, but ${
      state === 'corrupted' ? 'what is mounted' : 'nothing is mounted'
    } at ${target}${state === 'corrupted' ? ' cannot be used' : ''}; it is asked again`,
  );
}
