// What a driver says it can do, as sets of the specification's names. Capabilities this version does not know are left
// out: a newer driver stays usable.

import { csiClient } from '../client/csi-client.ts';
import type { CsiTransport } from '../client/transport.ts';
import {
  Controller,
  ControllerServiceCapability_RPC_Type,
  GroupController,
  GroupControllerServiceCapability_RPC_Type,
  Identity,
  Node,
  NodeServiceCapability_RPC_Type,
  PluginCapability_Service_Type,
  PluginCapability_VolumeExpansion_Type,
} from '../generated/csi/v1/csi_pb.ts';

type Names<E> = Exclude<keyof E & string, 'UNKNOWN'>;

export type ControllerCapability = Names<typeof ControllerServiceCapability_RPC_Type>;
export type NodeCapability = Names<typeof NodeServiceCapability_RPC_Type>;
export type GroupControllerCapability = Names<typeof GroupControllerServiceCapability_RPC_Type>;
export type PluginService = Names<typeof PluginCapability_Service_Type>;
export type PluginVolumeExpansion = Names<typeof PluginCapability_VolumeExpansion_Type>;

export interface PluginCapabilities {
  readonly services: ReadonlySet<PluginService>;
  readonly volumeExpansion: ReadonlySet<PluginVolumeExpansion>;
}

interface Options {
  timeoutMs: number;
  signal?: AbortSignal;
}

export async function controllerCapabilities(
  transport: CsiTransport,
  options: Options,
): Promise<ReadonlySet<ControllerCapability>> {
  const answer = await csiClient(Controller, transport, options).controllerGetCapabilities({}, options);
  return namesOf(ControllerServiceCapability_RPC_Type, rpcNumbers(answer.capabilities));
}

export async function nodeCapabilities(
  transport: CsiTransport,
  options: Options,
): Promise<ReadonlySet<NodeCapability>> {
  const answer = await csiClient(Node, transport, options).nodeGetCapabilities({}, options);
  return namesOf(NodeServiceCapability_RPC_Type, rpcNumbers(answer.capabilities));
}

export async function groupControllerCapabilities(
  transport: CsiTransport,
  options: Options,
): Promise<ReadonlySet<GroupControllerCapability>> {
  const answer = await csiClient(GroupController, transport, options).groupControllerGetCapabilities(
    {},
    options,
  );
  return namesOf(GroupControllerServiceCapability_RPC_Type, rpcNumbers(answer.capabilities));
}

export async function pluginCapabilities(
  transport: CsiTransport,
  options: Options,
): Promise<PluginCapabilities> {
  const answer = await csiClient(Identity, transport, options).getPluginCapabilities({}, options);
  const services: number[] = [];
  const expansions: number[] = [];
  for (const { type } of answer.capabilities) {
    if (type.case === 'service') services.push(type.value.type);
    if (type.case === 'volumeExpansion') expansions.push(type.value.type);
  }
  return {
    services: namesOf(PluginCapability_Service_Type, services),
    volumeExpansion: namesOf(PluginCapability_VolumeExpansion_Type, expansions),
  };
}

interface RpcCapability {
  type: { case: 'rpc'; value: { type: number } } | { case: undefined; value?: undefined };
}

function rpcNumbers(capabilities: readonly RpcCapability[]): number[] {
  return capabilities.flatMap(({ type }) => (type.case === 'rpc' ? [type.value.type] : []));
}

function namesOf<E extends Record<string, number>>(
  names: E,
  numbers: readonly number[],
): ReadonlySet<Names<E>> {
  const known = Object.entries(names).filter(([name]) => name !== 'UNKNOWN');
  return new Set(known.filter(([, number]) => numbers.includes(number)).map(([name]) => name as Names<E>));
}
