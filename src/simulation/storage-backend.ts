// The storage behind one simulated driver: its volumes and snapshots, where volumes are attached, staged and published, and
// how it behaves when it is slow, full, lying or restarted. The driver in front of it is written with the SDK: its
// operations are in storage-controller.ts, storage-snapshots.ts and storage-node.ts. Every change is in the history.

import { loopbackTransport } from '../csi/client/loopback-transport.ts';
import type { CsiTransport } from '../csi/client/transport.ts';
import { type DriverDefinition, defineDriver } from '../driver/driver.ts';
import { driverServices } from '../driver/driver-services.ts';
import { refuse } from '../driver/refuse.ts';
import { silentLog } from '../runtime/log/log.ts';
import type { MemoryMounter } from '../runtime/mount/memory-mounter.ts';
import type { Clock, Random } from '../runtime/ports.ts';
import type { DriverBackend } from './driver-backend.ts';
import type { CallFacts, History, StorageChange } from './history.ts';
import type { MemoryFiles } from './memory-files.ts';
import type { DriverPlan, RestartAnswer } from './plan.ts';
import { controllerOperations } from './storage-controller.ts';
import { nodeOperations } from './storage-node.ts';
import { SnapshotStore } from './storage-snapshots.ts';

export interface BackendVolume {
  readonly id: string;
  readonly name: string;
  bytes: bigint;
  readonly isShared: boolean;
  /** The snapshot that it was made from, or empty. */
  readonly source: string;
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

export const GIB = 1n << 30n;
/** The largest volume there is. */
export const MOST_GIB = 16;
export const ZONE_KEY = 'topology.sim.berth/zone';
/** Drivers with topology report it after some restarts, and after others not. No volume depends on it. */
export const RACK_KEY = 'topology.sim.berth/rack';

/** The machine that a node ID stands for: all IDs that a driver ever gave it do. */
export function machineOf(nodeId: string): string {
  return nodeId.split('.')[0] ?? '';
}

export class StorageBackend implements DriverBackend {
  readonly plan: DriverPlan;
  readonly volumes = new Map<string, BackendVolume>();
  readonly clock: Clock;
  readonly random: Random;
  readonly snapshots: SnapshotStore;
  readonly #history: History;
  readonly #paces = new Map<string, number>();
  /** `method volume` of the calls under way. */
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
    this.clock = init.clock;
    this.random = init.random;
    this.#history = init.history;
    this.snapshots = new SnapshotStore(this);
    this.#controller = this.#serveController();
    const id = existingHandle(this.plan.name);
    this.volumes.set(id, {
      id,
      name: '',
      bytes: GIB,
      isShared: false,
      source: '',
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
      transport: this.#serve({ node: nodeOperations(this, storage) }),
    });
  }

  rebooted(): void {
    // What is mounted there is the machine's, and forgotten with it.
  }

  hasVolume(id: string): boolean {
    return this.volumes.has(id);
  }

  hasNode(name: string): boolean {
    return this.#nodes.has(name);
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
    this.#controller = this.#serveController();
    for (const [name, { storage }] of this.#nodes) {
      this.#nodes.set(name, { storage, transport: this.#serve({ node: nodeOperations(this, storage) }) });
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
        return this.byName(call.volume) !== undefined;
      case 'CreateSnapshot':
      case 'CreateVolumeGroupSnapshot':
        return this.snapshots.has(call.volume);
      case 'ControllerPublishVolume':
        return this.isAttached(call.volume, call.node);
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

  /** What is left at the end; `id` is set where it is a volume or a snapshot, which may have to be kept. */
  *remains(): Generator<{ text: string; id: string }> {
    yield* this.snapshots.remains();
    for (const { id, name, attached } of this.volumes.values()) {
      if (id !== existingHandle(this.plan.name)) yield { text: `volume ${id} (${name})`, id };
      for (const node of attached) yield { text: `volume ${id} attached to ${node}`, id: '' };
    }
    for (const { storage } of this.#nodes.values()) {
      for (const id of storage.staged.keys())
        yield { text: `volume ${id} staged on ${storage.name}`, id: '' };
      for (const [path, id] of storage.published) {
        yield { text: `volume ${id} published at ${path} on ${storage.name}`, id: '' };
      }
    }
  }

  #serveController(): CsiTransport {
    return this.#serve({
      controller: { ...controllerOperations(this), ...this.snapshots.operations() },
      ...(this.plan.snapshots === 'groups' && { groupController: this.snapshots.groupOperations() }),
    });
  }

  #serve(operations: Pick<DriverDefinition, 'controller' | 'groupController' | 'node'>): CsiTransport {
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
      clock: this.clock,
      log: silentLog,
      address: plan.name,
    });
  }

  add(news: Parameters<History['add']>[0]): void {
    this.#history.add(news);
  }

  /** Waits as long as the call takes, under the SDK's lock; ends with the driver. */
  async work(method: string, volume: string, { copyMs = 0 }: { copyMs?: number } = {}): Promise<void> {
    const key = `${method} ${volume}`;
    const generation = this.#generation;
    const ms = this.#paces.get(key) ?? 1;
    this.#paces.delete(key);
    this.#busy.set(key, (this.#busy.get(key) ?? 0) + 1);
    await this.clock.sleep(ms + copyMs);
    if (generation !== this.#generation) throw refuse.unavailable('the driver was restarted');
    this.#busy.set(key, (this.#busy.get(key) ?? 1) - 1);
  }

  changed(
    change: StorageChange,
    volume: string,
    where: {
      node?: string;
      path?: string;
      name?: string;
      bytes?: bigint;
      isReadOnly?: boolean;
      source?: string;
    } = {},
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
      ...(where.source && { source: where.source }),
      ...(where.bytes !== undefined && { gib: Number(where.bytes / GIB) }),
    });
  }

  byName(name: string): BackendVolume | undefined {
    for (const volume of this.volumes.values()) if (volume.name === name) return volume;
    return undefined;
  }

  /** Whether a volume is attached under any node ID of the machine. */
  isAttached(volume: string, machine: string): boolean {
    for (const nodeId of this.volumes.get(volume)?.attached ?? [])
      if (machineOf(nodeId) === machine) return true;
    return false;
  }

  find(id: string): BackendVolume {
    const volume = this.volumes.get(id);
    if (volume === undefined) throw refuse.notFound(`volume ${id} does not exist`);
    return volume;
  }
}

/** What a ControllerExpandVolume asks for. */
export function bytesAsked({ rest }: Pick<CallFacts, 'rest'>): bigint {
  return BigInt(/"requiredBytes":"(\d+)"/.exec(rest)?.[1] ?? 0);
}
