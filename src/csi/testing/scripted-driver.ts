// A driver for tests: it keeps volumes in memory and tells the truth, unless a test scripts otherwise. Every call is
// recorded as the driver saw it, secrets included. Served over a real socket or through the loopback.

import type { GrpcCode } from '../../wire/grpc/grpc-code.ts';
import type { Message } from '../../wire/protobuf/descriptor.ts';
import { CsiError } from '../csi-error.ts';
import {
  Controller,
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  GroupController,
  GroupControllerServiceCapability_RPC_Type as GroupRpc,
  Identity,
  Node,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_VolumeExpansion_Type as PluginExpansion,
  PluginCapability_Service_Type as PluginService,
  VolumeUsage_Unit as Unit,
} from '../generated/csi/v1/csi_pb.ts';
import type { IncomingCall, Interceptor } from '../server/serve-call.ts';
import { implement, type ServiceImplementation } from '../server/service-implementation.ts';

/** What happens to one call instead of the plain truth. */
export interface Behaviour {
  /** Waits for this first; a call whose caller gives up meanwhile goes on, as in a real driver. */
  until?: Promise<unknown>;
  /** Answers with this code, without having done anything. */
  fail?: GrpcCode;
  /** Does what was asked, then answers with this code: the answer was lost. */
  failAfter?: GrpcCode;
  message?: string;
  /** Answers with this instead of what was really done (which is still done). */
  answer?: object;
}

export interface RecordedCall {
  /** `CreateVolume` */
  method: string;
  /** As it arrived: cast to the request's type. */
  request: Message;
}

export interface ScriptedVolume {
  id: string;
  name: string;
  capacityBytes: bigint;
  parameters: Record<string, string>;
  mutableParameters?: Record<string, string>;
  topology: Record<string, string>[];
  /** Node ID to whether it is read-only. */
  publishedOn: Map<string, boolean>;
  /** Why it is ill; healthy without it. */
  illness?: string;
}

export interface ScriptedSnapshot {
  id: string;
  name: string;
  volumeId: string;
  sizeBytes: bigint;
  parameters: Record<string, string>;
  ready: boolean;
  groupId?: string;
}

export interface ScriptedGroup {
  id: string;
  name: string;
  snapshotIds: string[];
  parameters: Record<string, string>;
}

export interface ScriptedDriverOptions {
  name?: string;
  nodeId?: string;
  controller?: (keyof typeof ControllerRpc)[];
  node?: (keyof typeof NodeRpc)[];
  /** Offers the group controller service with these. */
  group?: (keyof typeof GroupRpc)[];
  plugin?: (keyof typeof PluginService)[];
  expansion?: (keyof typeof PluginExpansion)[];
  /** What ControllerExpandVolume answers; true unless told. */
  nodeExpansionRequired?: boolean;
  /** Of this node; volumes are made in the first preferred or requisite segment. */
  segments?: Record<string, string>;
  maxVolumesPerNode?: number;
}

export class ScriptedDriver {
  readonly name: string;
  nodeId: string;
  readonly calls: RecordedCall[] = [];
  readonly volumes = new Map<string, ScriptedVolume>();
  readonly snapshots = new Map<string, ScriptedSnapshot>();
  readonly groups = new Map<string, ScriptedGroup>();
  /** What snapshots are when they are made. */
  snapshotsAreReady = true;
  /** `volume id -> staging path`, and `target path -> volume id`. */
  readonly staged = new Map<string, string>();
  readonly published = new Map<string, string>();
  /** Most calls that were under way at once for one volume or name, by that key. */
  readonly mostAtOnce = new Map<string, number>();
  ready = true;
  readonly #options: ScriptedDriverOptions;
  readonly #script = new Map<string, Behaviour[]>();
  readonly #standing = new Map<string, Behaviour>();
  readonly #underWay = new Map<string, number>();
  readonly #waiting = new Set<() => void>();

  constructor(options: ScriptedDriverOptions = {}) {
    this.#options = options;
    this.name = options.name ?? 'scripted.csi.test';
    this.nodeId = options.nodeId ?? 'scripted-node';
  }

  /** What the next calls of a method meet, one behaviour each; afterwards it tells the truth again. */
  script(method: string, ...behaviours: Behaviour[]): void {
    this.#script.set(method, [...(this.#script.get(method) ?? []), ...behaviours]);
  }

  /** What every call of a method meets until told otherwise; `undefined` ends it. */
  always(method: string, behaviour: Behaviour | undefined): void {
    if (behaviour) this.#standing.set(method, behaviour);
    else this.#standing.delete(method);
  }

  callsOf<T = Message>(method: string): T[] {
    return this.calls.filter((call) => call.method === method).map((call) => call.request as unknown as T);
  }

  /** Resolves as soon as `condition` holds; asked again at every call and answer. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** Goes with `services` into `serveCsi` or the loopback: records calls and follows the script. */
  readonly interceptor: Interceptor = async (call, next) => {
    const method = call.method.name;
    this.calls.push({ method, request: call.request });
    const leave = this.#enter(call);
    try {
      const behaviour = this.#script.get(method)?.shift() ?? this.#standing.get(method) ?? {};
      this.#look();
      await behaviour.until;
      const message = behaviour.message ?? 'scripted failure';
      if (behaviour.fail) throw new CsiError({ code: behaviour.fail, message });
      const answer = await next();
      if (behaviour.failAfter) throw new CsiError({ code: behaviour.failAfter, message });
      return behaviour.answer && answer ? Object.assign(answer, behaviour.answer) : answer;
    } finally {
      leave();
      this.#look();
    }
  };

  get services(): ServiceImplementation[] {
    const { group } = this.#options;
    return [this.#identity(), this.#controller(), this.#node(), ...(group ? [this.#group(group)] : [])];
  }

  #enter({ request }: IncomingCall): () => void {
    const { volumeId, name } = request as { volumeId?: string; name?: string };
    const key = volumeId || name || '';
    const count = (this.#underWay.get(key) ?? 0) + 1;
    this.#underWay.set(key, count);
    this.mostAtOnce.set(key, Math.max(count, this.mostAtOnce.get(key) ?? 0));
    return () => this.#underWay.set(key, (this.#underWay.get(key) ?? 1) - 1);
  }

  #look(): void {
    for (const look of [...this.#waiting]) look();
  }

  #identity(): ServiceImplementation {
    const { group, expansion = [] } = this.#options;
    const services = ['CONTROLLER_SERVICE', ...(group ? ['GROUP_CONTROLLER_SERVICE'] : [])];
    const plugin = this.#options.plugin ?? (services as (keyof typeof PluginService)[]);
    return implement(Identity, {
      getPluginInfo: () => ({ name: this.name, vendorVersion: '1' }),
      probe: () => ({ ready: this.ready }),
      getPluginCapabilities: () => ({
        capabilities: [
          ...plugin.map((type) => ({
            type: { case: 'service' as const, value: { type: PluginService[type] } },
          })),
          ...expansion.map((type) => ({
            type: { case: 'volumeExpansion' as const, value: { type: PluginExpansion[type] } },
          })),
        ],
      }),
    });
  }

  #controller(): ServiceImplementation {
    const rpcs = this.#options.controller ?? ['CREATE_DELETE_VOLUME', 'PUBLISH_UNPUBLISH_VOLUME'];
    return implement(Controller, {
      controllerGetCapabilities: () => ({
        capabilities: rpcs.map((type) => ({
          type: { case: 'rpc' as const, value: { type: ControllerRpc[type] } },
        })),
      }),
      createVolume: (request) => {
        const accessible = request.accessibilityRequirements;
        const where = accessible?.preferred[0] ?? accessible?.requisite[0];
        const known = [...this.volumes.values()].find((volume) => volume.name === request.name);
        const volume: ScriptedVolume = known ?? {
          id: `vol-${request.name}`,
          name: request.name,
          capacityBytes: request.capacityRange?.requiredBytes ?? 0n,
          parameters: request.parameters,
          topology: where ? [where.segments] : [],
          publishedOn: new Map(),
        };
        this.volumes.set(volume.id, volume);
        return {
          volume: {
            volumeId: volume.id,
            capacityBytes: volume.capacityBytes,
            volumeContext: { made: 'by script' },
            accessibleTopology: volume.topology.map((segments) => ({ segments })),
            ...(request.volumeContentSource && { contentSource: request.volumeContentSource }),
          },
        };
      },
      deleteVolume: ({ volumeId }) => {
        const volume = this.volumes.get(volumeId);
        if (volume && volume.publishedOn.size > 0) {
          throw new CsiError({ code: 'FAILED_PRECONDITION', message: `${volumeId} is published` });
        }
        this.volumes.delete(volumeId);
        return {};
      },
      controllerPublishVolume: ({ volumeId, nodeId, readonly }) => {
        this.#volume(volumeId).publishedOn.set(nodeId, readonly);
        return { publishContext: { device: `/dev/${volumeId}` } };
      },
      controllerUnpublishVolume: ({ volumeId, nodeId }) => {
        const volume = this.volumes.get(volumeId);
        if (nodeId === '') volume?.publishedOn.clear();
        else volume?.publishedOn.delete(nodeId);
        return {};
      },
      controllerExpandVolume: ({ volumeId, capacityRange }) => {
        const volume = this.#volume(volumeId);
        const wanted = capacityRange?.requiredBytes ?? 0n;
        if (wanted > volume.capacityBytes) volume.capacityBytes = wanted;
        const { nodeExpansionRequired = true } = this.#options;
        return { capacityBytes: volume.capacityBytes, nodeExpansionRequired };
      },
      controllerModifyVolume: ({ volumeId, mutableParameters }) => {
        const volume = this.#volume(volumeId);
        volume.mutableParameters = { ...volume.mutableParameters, ...mutableParameters };
        return {};
      },
      listVolumes: () => ({
        entries: [...this.volumes.values()].map((volume) => ({
          volume: { volumeId: volume.id, capacityBytes: volume.capacityBytes },
          status: statusOf(volume),
        })),
      }),
      controllerGetVolume: ({ volumeId }) => {
        const volume = this.#volume(volumeId);
        return { volume: { volumeId, capacityBytes: volume.capacityBytes }, status: statusOf(volume) };
      },
      createSnapshot: ({ name, sourceVolumeId, parameters }) => {
        const known = [...this.snapshots.values()].find((snapshot) => snapshot.name === name);
        if (known && known.volumeId !== sourceVolumeId) {
          throw new CsiError({ code: 'ALREADY_EXISTS', message: `${name} is of ${known.volumeId}` });
        }
        const snapshot: ScriptedSnapshot = known ?? {
          id: `snap-${name}`,
          name,
          volumeId: sourceVolumeId,
          sizeBytes: this.#volume(sourceVolumeId).capacityBytes,
          parameters,
          ready: this.snapshotsAreReady,
        };
        this.snapshots.set(snapshot.id, snapshot);
        return { snapshot: snapshotMessage(snapshot) };
      },
      deleteSnapshot: ({ snapshotId }) => {
        this.snapshots.delete(snapshotId);
        return {};
      },
      listSnapshots: ({ snapshotId }) => ({
        entries: [...this.snapshots.values()]
          .filter(({ id }) => snapshotId === '' || id === snapshotId)
          .map((snapshot) => ({ snapshot: snapshotMessage(snapshot) })),
      }),
      getSnapshot: ({ snapshotId }) => {
        const snapshot = this.snapshots.get(snapshotId);
        if (!snapshot) throw new CsiError({ code: 'NOT_FOUND', message: `no snapshot ${snapshotId}` });
        return { snapshot: snapshotMessage(snapshot) };
      },
      getCapacity: () => ({ availableCapacity: 1n << 40n }),
    });
  }

  #group(rpcs: (keyof typeof GroupRpc)[]): ServiceImplementation {
    const messageOf = ({ id, snapshotIds }: ScriptedGroup) => {
      const members = snapshotIds.flatMap((each) => this.snapshots.get(each) ?? []);
      return {
        groupSnapshotId: id,
        snapshots: members.map(snapshotMessage),
        readyToUse: members.every(({ ready }) => ready),
        creationTime: { seconds: 1_700_000_000n, nanos: 5 },
      };
    };
    return implement(GroupController, {
      groupControllerGetCapabilities: () => ({
        capabilities: rpcs.map((type) => ({
          type: { case: 'rpc' as const, value: { type: GroupRpc[type] } },
        })),
      }),
      createVolumeGroupSnapshot: ({ name, sourceVolumeIds, parameters }) => {
        const known = [...this.groups.values()].find((group) => group.name === name);
        if (known !== undefined) return { groupSnapshot: messageOf(known) };
        const id = `group-${name}`;
        const members = sourceVolumeIds.map(
          (volumeId): ScriptedSnapshot => ({
            id: `snap-${name}-${volumeId}`,
            name: `${name} ${volumeId}`,
            volumeId,
            sizeBytes: this.#volume(volumeId).capacityBytes,
            parameters,
            ready: this.snapshotsAreReady,
            groupId: id,
          }),
        );
        for (const member of members) this.snapshots.set(member.id, member);
        const group = { id, name, snapshotIds: members.map((member) => member.id), parameters };
        this.groups.set(id, group);
        return { groupSnapshot: messageOf(group) };
      },
      deleteVolumeGroupSnapshot: ({ groupSnapshotId }) => {
        for (const id of this.groups.get(groupSnapshotId)?.snapshotIds ?? []) this.snapshots.delete(id);
        this.groups.delete(groupSnapshotId);
        return {};
      },
      getVolumeGroupSnapshot: ({ groupSnapshotId }) => {
        const group = this.groups.get(groupSnapshotId);
        if (!group) throw new CsiError({ code: 'NOT_FOUND', message: `no group ${groupSnapshotId}` });
        return { groupSnapshot: messageOf(group) };
      },
    });
  }

  #node(): ServiceImplementation {
    const rpcs = this.#options.node ?? ['STAGE_UNSTAGE_VOLUME'];
    return implement(Node, {
      nodeGetCapabilities: () => ({
        capabilities: rpcs.map((type) => ({
          type: { case: 'rpc' as const, value: { type: NodeRpc[type] } },
        })),
      }),
      nodeGetInfo: () => ({
        nodeId: this.nodeId,
        maxVolumesPerNode: BigInt(this.#options.maxVolumesPerNode ?? 0),
        ...(this.#options.segments && { accessibleTopology: { segments: this.#options.segments } }),
      }),
      nodeStageVolume: ({ volumeId, stagingTargetPath }) => {
        this.staged.set(volumeId, stagingTargetPath);
        return {};
      },
      nodeUnstageVolume: ({ volumeId }) => {
        this.staged.delete(volumeId);
        return {};
      },
      nodePublishVolume: ({ volumeId, targetPath }) => {
        this.published.set(targetPath, volumeId);
        return {};
      },
      nodeUnpublishVolume: ({ targetPath }) => {
        this.published.delete(targetPath);
        return {};
      },
      nodeGetVolumeStats: ({ volumeId, volumePath }) => {
        if (this.published.get(volumePath) !== volumeId)
          throw new CsiError({ code: 'NOT_FOUND', message: `${volumeId} is not published at ${volumePath}` });
        const illness = this.volumes.get(volumeId)?.illness;
        return {
          usage: [
            { unit: Unit.BYTES, total: 1000n, available: 600n, used: 400n },
            { unit: Unit.INODES, total: 100n, available: 90n, used: 10n },
          ],
          volumeCondition: { abnormal: illness !== undefined, message: illness ?? 'healthy' },
        };
      },
      nodeExpandVolume: ({ capacityRange }) => ({ capacityBytes: capacityRange?.requiredBytes ?? 0n }),
    });
  }

  #volume(id: string): ScriptedVolume {
    const volume = this.volumes.get(id);
    if (!volume) throw new CsiError({ code: 'NOT_FOUND', message: `no volume ${id}` });
    return volume;
  }
}

function statusOf({ publishedOn, illness }: ScriptedVolume) {
  return {
    publishedNodeIds: [...publishedOn.keys()],
    volumeCondition: { abnormal: illness !== undefined, message: illness ?? 'healthy' },
  };
}

function snapshotMessage({ id, volumeId, sizeBytes, ready, groupId = '' }: ScriptedSnapshot) {
  return {
    groupSnapshotId: groupId,
    snapshotId: id,
    sourceVolumeId: volumeId,
    sizeBytes,
    readyToUse: ready,
    creationTime: { seconds: 1_700_000_000n, nanos: 5 },
  };
}
