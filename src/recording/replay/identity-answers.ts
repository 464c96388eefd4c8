// What a driver says of itself, where the recording does not have it: a recording that begins in the middle has no call that asks
// for capabilities. They are derived from the calls that the driver answered. Pure.

import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  GroupControllerServiceCapability_RPC_Type as GroupRpc,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
} from '../../csi/generated/csi/v1/csi_pb.ts';
import { type Recording, RecordingError } from '../read-recording.ts';

const CONTROLLER: Readonly<Record<string, number>> = {
  CreateVolume: ControllerRpc.CREATE_DELETE_VOLUME,
  DeleteVolume: ControllerRpc.CREATE_DELETE_VOLUME,
  ControllerPublishVolume: ControllerRpc.PUBLISH_UNPUBLISH_VOLUME,
  ControllerUnpublishVolume: ControllerRpc.PUBLISH_UNPUBLISH_VOLUME,
  ListVolumes: ControllerRpc.LIST_VOLUMES,
  GetCapacity: ControllerRpc.GET_CAPACITY,
  CreateSnapshot: ControllerRpc.CREATE_DELETE_SNAPSHOT,
  DeleteSnapshot: ControllerRpc.CREATE_DELETE_SNAPSHOT,
  ListSnapshots: ControllerRpc.LIST_SNAPSHOTS,
  GetSnapshot: ControllerRpc.GET_SNAPSHOT,
  ControllerExpandVolume: ControllerRpc.EXPAND_VOLUME,
  ControllerGetVolume: ControllerRpc.GET_VOLUME,
  ControllerModifyVolume: ControllerRpc.MODIFY_VOLUME,
};
const NODE: Readonly<Record<string, number>> = {
  NodeStageVolume: NodeRpc.STAGE_UNSTAGE_VOLUME,
  NodeUnstageVolume: NodeRpc.STAGE_UNSTAGE_VOLUME,
  NodeGetVolumeStats: NodeRpc.GET_VOLUME_STATS,
  NodeExpandVolume: NodeRpc.EXPAND_VOLUME,
};
const GROUP: Readonly<Record<string, number>> = {
  CreateVolumeGroupSnapshot: GroupRpc.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT,
  DeleteVolumeGroupSnapshot: GroupRpc.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT,
};

/** Method name to answer, for calls that the recording does not answer. `driverName`: if GetPluginInfo is not in it. */
export function identityAnswers(
  recording: Recording,
  driverName?: string,
): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
  const answered = new Set<string>();
  const succeeded = new Set<string>();
  for (const { method, answer } of recording.calls) {
    if (method === undefined || answer === undefined || answer.code === 'UNIMPLEMENTED') continue;
    answered.add(method.name);
    if (answer.code === 'OK') succeeded.add(method.name);
  }
  if (answered.size === 0) {
    throw new RecordingError(`${recording.path} has no answer of a driver, so there is nothing to play`);
  }
  if (!succeeded.has('GetPluginInfo') && driverName === undefined) {
    throw new RecordingError(
      `${recording.path} does not say what the driver is called: it has no answer to GetPluginInfo. Give its name with --driver-name`,
    );
  }
  const rpc = (table: Readonly<Record<string, number>>) => ({
    capabilities: [...new Set([...answered].flatMap((name) => table[name] ?? []))].map((type) => ({
      type: { case: 'rpc', value: { type } },
    })),
  });
  const services = [
    ...([...answered].some((name) => Object.hasOwn(CONTROLLER, name))
      ? [PluginService.CONTROLLER_SERVICE]
      : []),
    ...([...answered].some((name) => Object.hasOwn(GROUP, name))
      ? [PluginService.GROUP_CONTROLLER_SERVICE]
      : []),
  ];
  return new Map(
    Object.entries({
      Probe: { ready: true },
      GetPluginInfo: { name: driverName, vendorVersion: 'recorded' },
      GetPluginCapabilities: {
        capabilities: services.map((type) => ({ type: { case: 'service', value: { type } } })),
      },
      ControllerGetCapabilities: rpc(CONTROLLER),
      NodeGetCapabilities: rpc(NODE),
      GroupControllerGetCapabilities: rpc(GROUP),
    }).filter(([name]) => !succeeded.has(name)),
  );
}
