// A driver under test with its own storage, in a simulated cluster. What its storage has is asked from the storage after every call that
// reached it, and put into the history, where the rules read it. What the driver answers is compared with what is there.

import { dirname } from 'node:path';
import type { CsiTransport } from '../../csi/client/transport.ts';
import type {
  SimulatedDriver,
  SimulatedFiles,
  SimulatedStorage,
  SimulatedVolume,
} from '../../driver/simulated-driver.ts';
import { memoryMounter } from '../../runtime/mount/memory-mounter.ts';
import { create } from '../../wire/protobuf/create.ts';
import type { Message } from '../../wire/protobuf/descriptor.ts';
import { callFacts } from '../call-facts.ts';
import type { BackendInit, DriverBackend } from '../driver-backend.ts';
import type { CallFacts, StorageChange } from '../history.ts';
import { type MemoryFiles, memoryFiles } from '../memory-files.ts';
import type { DriverPlan } from '../plan.ts';
import { GIB, machineOf, type NodeStorage, ZONE_KEY } from '../storage-backend.ts';
import { ModuleProcess } from './module-process.ts';

interface NodeInfo {
  readonly nodeId: string;
  readonly maxVolumes: number | undefined;
  readonly segments: Readonly<Record<string, string>>;
}

type Fields = Message & {
  volume?: { volumeId?: string };
  nodeId?: string;
  maxVolumesPerNode?: bigint;
  accessibleTopology?: { segments?: Record<string, string> };
  readonly?: boolean;
};

export class ModuleBackend implements DriverBackend {
  readonly plan: DriverPlan;
  isDown = false;
  // The storage is not ours: a plan for it has neither of these faults.
  isFull = false;
  lieMs = 0;
  readonly fullNodes = new Set<string>();
  readonly #init: BackendInit;
  readonly #definition: SimulatedDriver<object>;
  readonly #storage: SimulatedStorage<object>;
  readonly #controller: ModuleProcess;
  readonly #nodes = new Map<
    string,
    { storage: NodeStorage; process: ModuleProcess; info: NodeInfo | undefined }
  >();
  /** What the storage had when it was last looked at. */
  #volumes = new Map<string, SimulatedVolume>();
  /** Name to the volume that the driver last answered with. */
  readonly #answered = new Map<string, string>();
  readonly #paces = new Map<string, number>();

  constructor(init: BackendInit, definition: SimulatedDriver<object>) {
    this.#init = init;
    this.plan = init.plan;
    this.#definition = definition;
    this.#storage = definition.storage({ clock: init.clock, random: init.random.fork('module storage') });
    const mounter = memoryMounter();
    this.#controller = this.#process('controller', {
      mounter,
      files: filesOf(memoryFiles(mounter)),
      segments: {},
    });
  }

  get controller(): CsiTransport {
    return this.#observed(this.#controller, undefined);
  }

  node(name: string): CsiTransport {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`driver ${this.plan.name} is not on node ${name}`);
    return this.#observed(node.process, node.storage);
  }

  addNode(storage: NodeStorage): void {
    const { name, zone, mounter, files } = storage;
    const segments: Record<string, string> = this.plan.topology ? { [ZONE_KEY]: zone } : {};
    const process = this.#process(name, { mounter, files: filesOf(files), segments, nodeName: name });
    this.#nodes.set(name, { storage, process, info: undefined });
  }

  restart(): void {
    this.#controller.crash(0);
    for (const { process } of this.#nodes.values()) process.crash(0);
  }

  rebooted(machine: string): void {
    this.#nodes.get(machine)?.process.crash(0);
  }

  pace({ method, volume }: CallFacts, ms: number): void {
    this.#paces.set(`${method} ${volume}`, ms);
  }

  /** Nobody but the driver knows. */
  mayBeDone(): boolean {
    return true;
  }

  *remains(): Generator<{ text: string; id: string }> {
    for (const { id, name, attachedTo } of this.#storage.volumes()) {
      yield { text: `volume ${id} (${name})`, id };
      for (const nodeId of attachedTo) yield { text: `volume ${id} attached to ${nodeId}`, id: '' };
    }
  }

  hasVolume(id: string): boolean {
    return this.#volumes.has(id);
  }

  nodeIdOf(machine: string): string {
    return this.#nodes.get(machine)?.info?.nodeId ?? '';
  }

  get maxVolumes(): number | undefined {
    return [...this.#nodes.values()].find(({ info }) => info)?.info?.maxVolumes;
  }

  segmentsIn(zone: string): Readonly<Record<string, string>> {
    for (const { storage, info } of this.#nodes.values())
      if (storage.zone === zone && info) return info.segments;
    return {};
  }

  #process(
    name: string,
    machine: {
      mounter: ModuleReach['mounter'];
      files: SimulatedFiles;
      segments: Readonly<Record<string, string>>;
      nodeName?: string;
    },
  ): ModuleProcess {
    const { clock, random, faults, history } = this.#init;
    return new ModuleProcess({
      name: `driver-${name}`,
      definition: this.#definition,
      reach: { nodeName: undefined, ...machine, port: this.#storage.port },
      clock,
      random: random.fork(`driver ${name}`),
      faults,
      history,
      paceOf: (method, volume) => this.#paceOf(`${method} ${volume}`),
      onReached: () => this.#look(),
    });
  }

  #paceOf(key: string): number {
    const ms = this.#paces.get(key) ?? 1;
    this.#paces.delete(key);
    return ms;
  }

  #observed(process: ModuleProcess, node: NodeStorage | undefined): CsiTransport {
    return {
      call: async (method, init, options) => {
        const request = create(method.input, init) as Message;
        const facts = callFacts(method, request, this.plan.name, node?.name ?? '');
        const response: Fields = await process.call(method, request, options);
        if (node) this.#nodeAnswered(facts, { node, response, request: request as Fields });
        else this.#controllerAnswered(facts, { response, request: request as Fields });
        return response as never;
      },
    };
  }

  /** Puts what changed in the storage since the last time into the history. */
  #look(): void {
    const before = this.#volumes;
    this.#volumes = new Map(
      [...this.#storage.volumes()].map((volume) => [
        volume.id,
        { ...volume, attachedTo: [...volume.attachedTo] },
      ]),
    );
    for (const [id, { name, bytes, attachedTo }] of this.#volumes) {
      const known = before.get(id);
      if (!known) this.#changed('created', id, { name, bytes });
      else if (bytes > known.bytes) this.#changed('grown', id, { bytes });
      const was = new Set(known?.attachedTo.map(machineOf));
      const is = new Set(attachedTo.map(machineOf));
      for (const node of is) if (!was.has(node)) this.#changed('attached', id, { node });
      for (const node of was) if (!is.has(node)) this.#changed('detached', id, { node });
    }
    for (const [id, { name }] of before) if (!this.#volumes.has(id)) this.#changed('deleted', id, { name });
  }

  #controllerAnswered(
    { method, volume }: CallFacts,
    { request, response }: { request: Fields; response: Fields },
  ): void {
    this.#look();
    const has = this.#volumes.get(volume);
    const { nodeId = '' } = request;
    switch (method) {
      case 'CreateVolume': {
        const id = response.volume?.volumeId ?? '';
        if (!this.#volumes.has(id))
          this.#broken(method, volume, `answered volume ${id}, which the storage does not have`);
        const other = this.#answered.get(volume);
        if (other !== undefined && other !== id && this.#volumes.has(other))
          this.#broken(
            method,
            volume,
            `answered volume ${id}, and before that ${other}, which is still there`,
          );
        this.#answered.set(volume, id);
        return;
      }
      case 'DeleteVolume':
        if (has) this.#broken(method, volume, 'answered OK, and the storage still has it');
        return;
      case 'ControllerPublishVolume':
        if (!has?.attachedTo.includes(nodeId))
          this.#broken(method, volume, `answered OK, and it is not attached to ${nodeId}`);
        return;
      case 'ControllerUnpublishVolume':
        if (has?.attachedTo.includes(nodeId))
          this.#broken(method, volume, `answered OK, and it is still attached to ${nodeId}`);
        return;
    }
  }

  #nodeAnswered(
    { method, volume, path, staging }: CallFacts,
    { node, request, response }: { node: NodeStorage; request: Fields; response: Fields },
  ): void {
    const isMounted = (at: string): boolean =>
      node.mounter.mounts.some(({ mountPoint }) => mountPoint === at);
    switch (method) {
      case 'NodeGetInfo':
        this.#registered(node, response);
        return;
      case 'NodeStageVolume':
        if (!node.staged.has(volume)) this.#changed('staged', volume, { node: node.name, path: staging });
        node.staged.set(volume, staging);
        return;
      case 'NodeUnstageVolume':
        if (isMounted(staging))
          this.#broken(method, volume, `answered OK, and ${staging} is still mounted on ${node.name}`);
        if (node.staged.delete(volume)) this.#changed('unstaged', volume, { node: node.name, path: staging });
        return;
      case 'NodePublishVolume':
        if (!isMounted(path))
          this.#broken(method, volume, `answered OK, and ${path} is not mounted on ${node.name}`);
        if (!node.published.has(path))
          this.#changed('published', volume, {
            node: node.name,
            path,
            isReadOnly: request.readonly ?? false,
          });
        node.published.set(path, volume);
        return;
      case 'NodeUnpublishVolume':
        if (isMounted(path))
          this.#broken(method, volume, `answered OK, and ${path} is still mounted on ${node.name}`);
        if (node.published.delete(path)) this.#changed('unpublished', volume, { node: node.name, path });
        return;
      case 'NodeExpandVolume':
        this.#changed('expanded', volume, { node: node.name, bytes: this.#volumes.get(volume)?.bytes ?? 0n });
        return;
    }
  }

  #registered(node: NodeStorage, { nodeId = '', maxVolumesPerNode = 0n, accessibleTopology }: Fields): void {
    const known = this.#nodes.get(node.name);
    if (!known) return;
    const segments = accessibleTopology?.segments ?? {};
    known.info = { nodeId, maxVolumes: Number(maxVolumesPerNode) || undefined, segments };
    if (machineOf(nodeId) === node.name) return;
    this.#broken(
      'NodeGetInfo',
      nodeId,
      `is not ${node.name} or ${node.name}.SUFFIX, by which the rules know the node`,
    );
  }

  #broken(method: string, subject: string, why: string): void {
    this.#init.history.violate('driver-promise', `${method} ${subject} ${why}`);
  }

  #changed(
    change: StorageChange,
    volume: string,
    {
      node = '',
      path = '',
      name = '',
      bytes,
      isReadOnly,
    }: { node?: string; path?: string; name?: string; bytes?: bigint; isReadOnly?: boolean },
  ): void {
    this.#init.history.add({
      kind: 'storage',
      driver: this.plan.name,
      change,
      volume,
      node,
      path,
      name,
      ...(isReadOnly && { isReadOnly }),
      ...(bytes !== undefined && { gib: Number(bytes / GIB) }),
    });
  }
}

type ModuleReach = ConstructorParameters<typeof ModuleProcess>[0]['reach'];

export function filesOf(files: MemoryFiles): SimulatedFiles {
  return {
    makeDirectory: (path) => files.makeDirectory(path),
    async makeFile(path) {
      await files.makeDirectory(dirname(path));
      await files.writeRecord(path, '');
    },
    async remove(path) {
      if ((await files.kindOf(path)) === 'file') await files.removeEmptyFile(path);
      else await files.removeDirectory(path);
    },
  };
}
