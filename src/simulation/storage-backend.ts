// The storage behind one simulated driver, and the driver itself, written with the SDK: volumes, where they are attached,
// staged and published. It is slow, full or lying when told so; otherwise it does what the specification says. Every
// change is in the history.

import { dirname } from 'node:path';
import { loopbackTransport } from '../csi/client/loopback-transport.ts';
import type { CsiTransport } from '../csi/client/transport.ts';
import {
  VolumeCapability_AccessMode_Mode as Mode,
  type VolumeCapability,
} from '../csi/generated/csi/v1/csi_pb.ts';
import { type ControllerOperations, defineDriver, type NodeOperations } from '../driver/driver.ts';
import { driverServices } from '../driver/driver-services.ts';
import { refuse } from '../driver/refuse.ts';
import { silentLog } from '../runtime/log/log.ts';
import type { MemoryMounter } from '../runtime/mount/memory-mounter.ts';
import type { Clock, Random } from '../runtime/ports.ts';
import type { CallFacts, History, StorageChange } from './history.ts';
import type { MemoryFiles } from './memory-files.ts';
import type { DriverPlan, RestartAnswer } from './plan.ts';

export interface BackendVolume {
  readonly id: string;
  readonly name: string;
  bytes: bigint;
  readonly isShared: boolean;
  /** Topology segment value; empty where the driver has none. */
  readonly zone: string;
  /** Node IDs: it has to be detached under the one that it was attached under. */
  readonly attached: Set<string>;
  /** Node IDs where it is still attached although the caller was told otherwise. */
  readonly lingering: Set<string>;
}

/** One machine's end of the storage: what its driver has staged and published there. */
export interface NodeStorage {
  readonly name: string;
  readonly mounter: MemoryMounter;
  readonly files: MemoryFiles;
  /** Volume ID to staging path. */
  readonly staged: Map<string, string>;
  /** Target path to volume ID. */
  readonly published: Map<string, string>;
  readonly zone: string;
}

/** Of the volume that each driver's storage has from the start. It has no claim and must never be deleted. */
export function existingHandle(driver: string): string {
  return `${driver.split('.')[0]}-existing`;
}

const GIB = 1n << 30n;
/** The largest volume there is. */
export const MOST_GIB = 16;
export const ZONE_KEY = 'topology.sim.berth/zone';
/** Drivers with topology report it after some restarts, and after others not. No volume depends on it. */
export const RACK_KEY = 'topology.sim.berth/rack';

/** The machine that a node ID stands for: all IDs that a driver ever gave it do. */
export function machineOf(nodeId: string): string {
  return nodeId.split('.')[0] ?? '';
}

export class StorageBackend {
  readonly plan: DriverPlan;
  readonly volumes = new Map<string, BackendVolume>();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #history: History;
  readonly #paces = new Map<string, number>();
  readonly #busy = new Map<string, number>();
  isFull = false;
  /** How long a volume stays attached after its detach was acknowledged. */
  lieMs = 0;
  isDown = false;
  /** Nodes that no further volume can be attached to. */
  readonly fullNodes = new Set<string>();
  /** Counts restarts of the driver: calls from before a restart are dropped. */
  #generation = 0;
  /** Counts the restarts that changed the node IDs. */
  #renamings = 0;
  /** Per node, as NodeGetInfo answers now. Never reached. */
  maxVolumes = 100;
  #hasRacks = false;
  #controller: CsiTransport;
  readonly #nodes = new Map<string, { storage: NodeStorage; transport: CsiTransport }>();

  constructor(init: { plan: DriverPlan; clock: Clock; random: Random; history: History }) {
    this.plan = init.plan;
    this.#clock = init.clock;
    this.#random = init.random;
    this.#history = init.history;
    this.#controller = this.#serve({ controller: this.#controllerOperations() });
    const id = existingHandle(this.plan.name);
    this.volumes.set(id, {
      id,
      name: '',
      bytes: GIB,
      isShared: false,
      zone: this.plan.topology ? 'a' : '',
      attached: new Set(),
      lingering: new Set(),
    });
  }

  /** As NodeGetInfo answers now. */
  nodeIdOf(machine: string): string {
    return this.#renamings === 0 ? machine : `${machine}.${this.#renamings}`;
  }

  /** As NodeGetInfo answers now for a node in this zone. */
  segmentsIn(zone: string): Record<string, string> {
    if (!this.plan.topology) return {};
    return this.#hasRacks ? { [RACK_KEY]: 'r', [ZONE_KEY]: zone } : { [ZONE_KEY]: zone };
  }

  get controller(): CsiTransport {
    return this.#controller;
  }

  addNode(storage: NodeStorage): void {
    this.#nodes.set(storage.name, {
      storage,
      transport: this.#serve({ node: this.#nodeOperations(storage) }),
    });
  }

  node(name: string): CsiTransport {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`driver ${this.plan.name} is not on node ${name}`);
    return node.transport;
  }

  /** Restarts the driver: locks and calls under way are lost, the storage stays. */
  restart(answer: RestartAnswer): void {
    this.#generation += 1;
    if (answer === 'limit') this.maxVolumes += 1;
    if (answer === 'node ID') this.#renamings += 1;
    if (answer === 'topology') this.#hasRacks = !this.#hasRacks;
    this.#busy.clear();
    this.#controller = this.#serve({ controller: this.#controllerOperations() });
    for (const [name, { storage }] of this.#nodes) {
      this.#nodes.set(name, { storage, transport: this.#serve({ node: this.#nodeOperations(storage) }) });
    }
  }

  /** Sets how long the next call of this kind for this volume takes. */
  pace({ method, volume }: CallFacts, ms: number): void {
    this.#paces.set(`${method} ${volume}`, ms);
  }

  /** Whether the call may have taken effect already, or still may: then a final refusal would be a lie. */
  mayBeDone(call: CallFacts): boolean {
    if ((this.#busy.get(`${call.method} ${call.volume}`) ?? 0) > 0) return true;
    switch (call.method) {
      case 'CreateVolume':
        return this.#byName(call.volume) !== undefined;
      case 'ControllerPublishVolume':
        return this.#isAttached(call.volume, call.node);
      case 'NodeStageVolume':
        return this.#nodes.get(call.node)?.storage.staged.has(call.volume) ?? false;
      case 'ControllerExpandVolume':
        return (this.volumes.get(call.volume)?.bytes ?? 0n) >= bytesAsked(call);
      case 'NodePublishVolume':
        return this.#nodes.get(call.node)?.storage.published.has(call.path) ?? false;
      default:
        return true;
    }
  }

  /** What is left at the end; `volume` is set where it is only the volume itself. */
  *remains(): Generator<{ text: string; volume: string }> {
    for (const { id, name, attached } of this.volumes.values()) {
      if (id !== existingHandle(this.plan.name)) yield { text: `volume ${id} (${name})`, volume: id };
      for (const node of attached) yield { text: `volume ${id} attached to ${node}`, volume: '' };
    }
    for (const { storage } of this.#nodes.values()) {
      for (const id of storage.staged.keys())
        yield { text: `volume ${id} staged on ${storage.name}`, volume: '' };
      for (const [path, id] of storage.published) {
        yield { text: `volume ${id} published at ${path} on ${storage.name}`, volume: '' };
      }
    }
  }

  #serve(operations: { controller: ControllerOperations } | { node: NodeOperations }): CsiTransport {
    const { plan } = this;
    const driver = defineDriver({
      name: plan.name,
      version: '1',
      accessTypes: ['mount', 'block'],
      features: { topology: plan.topology, publishedNodes: plan.lists && plan.attaches },
      // A node's plugin answers GetPluginCapabilities too; nobody asks it.
      ...operations,
    });
    return loopbackTransport(driverServices(driver, { log: silentLog }), {
      clock: this.#clock,
      log: silentLog,
      address: plan.name,
    });
  }

  /** Waits as long as the call takes, under the SDK's lock; ends with the driver. */
  async #work(method: string, volume: string): Promise<void> {
    const key = `${method} ${volume}`;
    const generation = this.#generation;
    const ms = this.#paces.get(key) ?? 1;
    this.#paces.delete(key);
    this.#busy.set(key, (this.#busy.get(key) ?? 0) + 1);
    await this.#clock.sleep(ms);
    if (generation !== this.#generation) throw refuse.unavailable('the driver was restarted');
    this.#busy.set(key, (this.#busy.get(key) ?? 1) - 1);
  }

  #changed(
    change: StorageChange,
    volume: string,
    where: { node?: string; path?: string; name?: string; bytes?: bigint; isReadOnly?: boolean } = {},
  ): void {
    this.#history.add({
      kind: 'storage',
      driver: this.plan.name,
      change,
      volume,
      node: where.node ?? '',
      path: where.path ?? '',
      name: where.name ?? '',
      ...(where.isReadOnly && { isReadOnly: true }),
      ...(where.bytes !== undefined && { gib: Number(where.bytes / GIB) }),
    });
  }

  #byName(name: string): BackendVolume | undefined {
    for (const volume of this.volumes.values()) if (volume.name === name) return volume;
    return undefined;
  }

  /** Under any node ID of the machine. */
  #isAttached(volume: string, machine: string): boolean {
    for (const nodeId of this.volumes.get(volume)?.attached ?? [])
      if (machineOf(nodeId) === machine) return true;
    return false;
  }

  #find(id: string): BackendVolume {
    const volume = this.volumes.get(id);
    if (volume === undefined) throw refuse.notFound(`volume ${id} does not exist`);
    return volume;
  }

  #controllerOperations(): ControllerOperations {
    const { plan } = this;
    return {
      createVolume: async (request) => {
        await this.#work('CreateVolume', request.name);
        const known = this.#byName(request.name);
        if (known) return this.#described(known);
        if (this.isFull) throw refuse.resourceExhausted('no room left');
        const id = `${plan.short}-${this.#random.suffix(6)}`;
        const requisite = request.accessibilityRequirements?.preferred ?? [];
        const all = [...requisite, ...(request.accessibilityRequirements?.requisite ?? [])];
        const bytes = request.capacityRange?.requiredBytes ?? GIB;
        const volume: BackendVolume = {
          id,
          name: request.name,
          bytes,
          isShared: request.volumeCapabilities.some(isShared),
          zone: plan.topology ? (all[0]?.segments[ZONE_KEY] ?? 'a') : '',
          attached: new Set(),
          lingering: new Set(),
        };
        this.volumes.set(id, volume);
        this.#changed('created', id, { name: request.name, bytes });
        return this.#described(volume);
      },
      deleteVolume: async ({ volumeId }) => {
        await this.#work('DeleteVolume', volumeId);
        const volume = this.volumes.get(volumeId);
        if (volume === undefined) return {};
        if (volume.attached.size + volume.lingering.size > 0) {
          throw refuse.failedPrecondition(`volume ${volumeId} is attached`);
        }
        this.volumes.delete(volumeId);
        this.#changed('deleted', volumeId, { name: volume.name });
        return {};
      },
      ...(plan.expands && {
        controllerExpandVolume: async ({ volumeId, capacityRange }) => {
          await this.#work('ControllerExpandVolume', volumeId);
          const volume = this.#find(volumeId);
          const { requiredBytes } = capacityRange;
          if (requiredBytes > BigInt(MOST_GIB) * GIB) throw refuse.outOfRange('there is none so large');
          if (this.isFull && requiredBytes > volume.bytes) throw refuse.resourceExhausted('no room left');
          if (requiredBytes > volume.bytes) {
            volume.bytes = requiredBytes;
            this.#changed('grown', volumeId, { bytes: requiredBytes });
          }
          return { capacityBytes: volume.bytes, nodeExpansionRequired: plan.expands === 'node' };
        },
      }),
      validateVolumeCapabilities: ({ volumeCapabilities }) => ({ confirmed: { volumeCapabilities } }),
      ...(plan.attaches && {
        controllerPublishVolume: async ({ volumeId, nodeId }) => {
          await this.#work('ControllerPublishVolume', volumeId);
          const volume = this.#find(volumeId);
          const machine = machineOf(nodeId);
          const isKnown = this.#nodes.has(machine) && nodeId === this.nodeIdOf(machine);
          if (!isKnown && !volume.attached.has(nodeId))
            throw refuse.notFound(`node ${nodeId} does not exist`);
          const others = [...volume.attached, ...volume.lingering].filter((each) => each !== nodeId);
          if (others.length > 0 && !volume.isShared) {
            throw refuse.failedPrecondition(`volume ${volumeId} is attached to ${others.join(', ')}`);
          }
          if (this.fullNodes.has(machine) && !volume.attached.has(nodeId) && !volume.lingering.has(nodeId))
            throw refuse.resourceExhausted(`node ${nodeId} has no room for another volume`);
          volume.lingering.delete(nodeId);
          if (!volume.attached.has(nodeId)) {
            volume.attached.add(nodeId);
            this.#changed('attached', volumeId, { node: machine });
          }
          return { publishContext: { device: `/dev/${volumeId}` } };
        },
        controllerUnpublishVolume: async ({ volumeId, nodeId }) => {
          await this.#work('ControllerUnpublishVolume', volumeId);
          const volume = this.volumes.get(volumeId);
          if (!volume?.attached.delete(nodeId)) return {};
          const machine = machineOf(nodeId);
          if (!this.#isAttached(volumeId, machine)) this.#changed('detached', volumeId, { node: machine });
          if (this.lieMs > 0) {
            volume.lingering.add(nodeId);
            this.#clock.setTimeout(() => volume.lingering.delete(nodeId), this.lieMs);
          }
          return {};
        },
      }),
      ...(plan.lists && {
        listVolumes: async () => {
          const entries = [...this.volumes.values()].map((volume) => ({
            volume: { volumeId: volume.id, capacityBytes: volume.bytes },
            status: { publishedNodeIds: [...volume.attached].sort() },
          }));
          return { entries };
        },
      }),
    };
  }

  #described(volume: BackendVolume) {
    return {
      volume: {
        volumeId: volume.id,
        capacityBytes: volume.bytes,
        volumeContext: { name: volume.name },
        ...(volume.zone !== '' && { accessibleTopology: [{ segments: { [ZONE_KEY]: volume.zone } }] }),
      },
    };
  }

  #nodeOperations(node: NodeStorage): NodeOperations {
    const { plan } = this;
    const isAttached = (volumeId: string): boolean => !plan.attaches || this.#isAttached(volumeId, node.name);
    return {
      nodeGetInfo: () => ({
        nodeId: this.nodeIdOf(node.name),
        maxVolumesPerNode: BigInt(this.maxVolumes),
        ...(plan.topology && { accessibleTopology: { segments: this.segmentsIn(node.zone) } }),
      }),
      ...(plan.stages && {
        nodeStageVolume: async (request) => {
          const { volumeId, stagingTargetPath } = request;
          await this.#work('NodeStageVolume', volumeId);
          this.#find(volumeId);
          if (!isAttached(volumeId))
            throw refuse.failedPrecondition(`volume ${volumeId} is not attached here`);
          if (node.staged.has(volumeId)) return {};
          await node.mounter.mount({ source: `/dev/${volumeId}`, target: stagingTargetPath, fsType: 'ext4' });
          node.staged.set(volumeId, stagingTargetPath);
          this.#changed('staged', volumeId, { node: node.name, path: stagingTargetPath });
          return {};
        },
        nodeUnstageVolume: async ({ volumeId, stagingTargetPath }) => {
          await this.#work('NodeUnstageVolume', volumeId);
          if (!node.staged.delete(volumeId)) return {};
          await node.mounter.unmount(stagingTargetPath);
          this.#changed('unstaged', volumeId, { node: node.name, path: stagingTargetPath });
          return {};
        },
      }),
      nodePublishVolume: async (request) => {
        const { volumeId, targetPath, stagingTargetPath, volumeContext, readonly } = request;
        await this.#work('NodePublishVolume', volumeId);
        const isEphemeral = volumeContext['csi.storage.k8s.io/ephemeral'] === 'true';
        if (!isEphemeral) this.#find(volumeId);
        if (!isEphemeral && plan.stages && !node.staged.has(volumeId)) {
          throw refuse.failedPrecondition(`volume ${volumeId} is not staged here`);
        }
        if (!isEphemeral && !isAttached(volumeId)) {
          throw refuse.failedPrecondition(`volume ${volumeId} is not attached here`);
        }
        if (node.published.has(targetPath)) return {};
        await node.files.makeDirectory(dirname(targetPath));
        if (request.volumeCapability?.accessType.case === 'block')
          await node.files.writeRecord(targetPath, '');
        else await node.files.makeDirectory(targetPath);
        await node.mounter.bind(stagingTargetPath || `/dev/${volumeId}`, targetPath, { readOnly: readonly });
        node.published.set(targetPath, volumeId);
        const where = { node: node.name, path: targetPath, isReadOnly: readonly };
        this.#changed('published', volumeId, where);
        return {};
      },
      ...(plan.expands === 'node' && {
        nodeExpandVolume: async ({ volumeId, volumePath }) => {
          await this.#work('NodeExpandVolume', volumeId);
          const volume = this.#find(volumeId);
          if (node.published.get(volumePath) !== volumeId)
            throw refuse.notFound(`volume ${volumeId} is not published at ${volumePath}`);
          this.#changed('expanded', volumeId, { node: node.name, bytes: volume.bytes });
          return { capacityBytes: volume.bytes };
        },
      }),
      nodeUnpublishVolume: async ({ volumeId, targetPath }) => {
        await this.#work('NodeUnpublishVolume', volumeId);
        if (node.published.delete(targetPath)) {
          await node.mounter.unmount(targetPath);
          this.#changed('unpublished', volumeId, { node: node.name, path: targetPath });
        }
        if ((await node.files.kindOf(targetPath)) === 'file') await node.files.removeEmptyFile(targetPath);
        else await node.files.removeDirectory(targetPath);
        return {};
      },
    };
  }
}

function isShared({ accessMode }: VolumeCapability): boolean {
  const mode = accessMode?.mode ?? Mode.UNKNOWN;
  return (
    mode === Mode.MULTI_NODE_MULTI_WRITER ||
    mode === Mode.MULTI_NODE_READER_ONLY ||
    mode === Mode.MULTI_NODE_SINGLE_WRITER
  );
}

/** What a ControllerExpandVolume asks for. */
export function bytesAsked({ rest }: Pick<CallFacts, 'rest'>): bigint {
  return BigInt(/"requiredBytes":"(\d+)"/.exec(rest)?.[1] ?? 0);
}
