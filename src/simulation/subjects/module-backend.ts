// A driver under test with its own storage, in a simulated cluster: its processes, one for the controller and one a node, and
// what it says of the nodes. storage-witness.ts tells the history what it did.

import { dirname } from 'node:path';
import type { CsiTransport } from '../../csi/client/transport.ts';
import type { SimulatedDriver, SimulatedFiles, SimulatedStorage } from '../../driver/simulated-driver.ts';
import { memoryMounter } from '../../runtime/mount/memory-mounter.ts';
import { create } from '../../wire/protobuf/create.ts';
import type { Message } from '../../wire/protobuf/descriptor.ts';
import { callFacts } from '../call-facts.ts';
import type { BackendInit, DriverBackend } from '../driver-backend.ts';
import type { CallFacts } from '../history.ts';
import { type MemoryFiles, memoryFiles } from '../memory-files.ts';
import type { DriverPlan } from '../plan.ts';
import { machineOf, type NodeStorage, ZONE_KEY } from '../storage-backend.ts';
import { ModuleProcess } from './module-process.ts';
import { type Fields, StorageWitness } from './storage-witness.ts';

interface NodeInfo {
  readonly nodeId: string;
  readonly maxVolumes: number | undefined;
  readonly segments: Readonly<Record<string, string>>;
}

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
  readonly #witness: StorageWitness;
  readonly #paces = new Map<string, number>();

  constructor(init: BackendInit, definition: SimulatedDriver<object>) {
    this.#init = init;
    this.plan = init.plan;
    this.#definition = definition;
    this.#storage = definition.storage({ clock: init.clock, random: init.random.fork('module storage') });
    this.#witness = new StorageWitness(init.plan.name, this.#storage, init.history);
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
    return this.#witness.has(id);
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
      onReached: () => this.#witness.look(),
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
        if (node && facts.method === 'NodeGetInfo') this.#registered(node, response);
        else if (node) this.#witness.nodeAnswered(facts, { node, request: request as Fields });
        else this.#witness.controllerAnswered(facts, { response, request: request as Fields });
        return response as never;
      },
    };
  }

  #registered(node: NodeStorage, { nodeId = '', maxVolumesPerNode = 0n, accessibleTopology }: Fields): void {
    const known = this.#nodes.get(node.name);
    if (!known) return;
    const segments = accessibleTopology?.segments ?? {};
    known.info = { nodeId, maxVolumes: Number(maxVolumesPerNode) || undefined, segments };
    if (machineOf(nodeId) === node.name) return;
    this.#witness.broken(
      'NodeGetInfo',
      nodeId,
      `is not ${node.name} or ${node.name}.SUFFIX, by which the rules know the node`,
    );
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
