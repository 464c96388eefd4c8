// Tells the history what a driver under test did: what its storage has is asked from the storage after every call that reached it,
// and what the driver answered is compared with what is there.

import type { SimulatedStorage, SimulatedVolume } from '../../driver/simulated-driver.ts';
import type { Message } from '../../wire/protobuf/descriptor.ts';
import type { CallFacts, History, StorageChange } from '../history.ts';
import { GIB, machineOf, type NodeStorage } from '../storage-backend.ts';

/** The fields of requests and responses that matter here. */
export type Fields = Message & {
  volume?: { volumeId?: string };
  nodeId?: string;
  maxVolumesPerNode?: bigint;
  accessibleTopology?: { segments?: Record<string, string> };
  readonly?: boolean;
};

export class StorageWitness {
  readonly #driver: string;
  readonly #storage: SimulatedStorage<object>;
  readonly #history: History;
  /** What the storage had when it was last looked at. */
  #volumes = new Map<string, SimulatedVolume>();
  /** Name to the volume that the driver last answered with. */
  readonly #answered = new Map<string, string>();

  constructor(driver: string, storage: SimulatedStorage<object>, history: History) {
    this.#driver = driver;
    this.#storage = storage;
    this.#history = history;
  }

  has(id: string): boolean {
    return this.#volumes.has(id);
  }

  /** Puts what changed in the storage since the last time into the history. */
  look(): void {
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

  controllerAnswered(
    { method, volume }: CallFacts,
    { request, response }: { request: Fields; response: Fields },
  ): void {
    this.look();
    const has = this.#volumes.get(volume);
    const { nodeId = '' } = request;
    switch (method) {
      case 'CreateVolume': {
        const id = response.volume?.volumeId ?? '';
        if (!this.#volumes.has(id))
          this.broken(method, volume, `answered volume ${id}, which the storage does not have`);
        const other = this.#answered.get(volume);
        if (other !== undefined && other !== id && this.#volumes.has(other))
          this.broken(
            method,
            volume,
            `answered volume ${id}, and before that ${other}, which is still there`,
          );
        this.#answered.set(volume, id);
        return;
      }
      case 'DeleteVolume':
        if (has) this.broken(method, volume, 'answered OK, and the storage still has it');
        return;
      case 'ControllerPublishVolume':
        if (!has?.attachedTo.includes(nodeId))
          this.broken(method, volume, `answered OK, and it is not attached to ${nodeId}`);
        return;
      case 'ControllerUnpublishVolume':
        if (has?.attachedTo.includes(nodeId))
          this.broken(method, volume, `answered OK, and it is still attached to ${nodeId}`);
        return;
    }
  }

  nodeAnswered(
    { method, volume, path, staging }: CallFacts,
    { node, request }: { node: NodeStorage; request: Fields },
  ): void {
    const isMounted = (at: string): boolean =>
      node.mounter.mounts.some(({ mountPoint }) => mountPoint === at);
    switch (method) {
      case 'NodeStageVolume':
        if (!node.staged.has(volume)) this.#changed('staged', volume, { node: node.name, path: staging });
        node.staged.set(volume, staging);
        return;
      case 'NodeUnstageVolume':
        if (isMounted(staging))
          this.broken(method, volume, `answered OK, and ${staging} is still mounted on ${node.name}`);
        if (node.staged.delete(volume)) this.#changed('unstaged', volume, { node: node.name, path: staging });
        return;
      case 'NodePublishVolume':
        if (!isMounted(path))
          this.broken(method, volume, `answered OK, and ${path} is not mounted on ${node.name}`);
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
          this.broken(method, volume, `answered OK, and ${path} is still mounted on ${node.name}`);
        if (node.published.delete(path)) this.#changed('unpublished', volume, { node: node.name, path });
        return;
      case 'NodeExpandVolume':
        this.#changed('expanded', volume, { node: node.name, bytes: this.#volumes.get(volume)?.bytes ?? 0n });
        return;
    }
  }

  broken(method: string, subject: string, why: string): void {
    this.#history.violate('driver-promise', `${method} ${subject} ${why}`);
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
    this.#history.add({
      kind: 'storage',
      driver: this.#driver,
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
