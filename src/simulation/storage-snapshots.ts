// The snapshots of one simulated storage, single and in groups, and the operations of its driver about them. Members of
// a group are made and deleted with it, all of them or none. A snapshot is ready to use some time after it was cut.

import type { ControllerOperations, GroupControllerOperations } from '../driver/driver.ts';
import { refuse } from '../driver/refuse.ts';
import type { StorageBackend } from './storage-backend.ts';

interface BackendSnapshot {
  readonly id: string;
  readonly name: string;
  /** The volume that it was cut of. */
  readonly source: string;
  readonly bytes: bigint;
  readonly cutAtMs: number;
  readonly readyAtMs: number;
  /** The group that it is a member of, or empty. */
  readonly group: string;
}

interface BackendGroup {
  readonly id: string;
  readonly name: string;
  readonly members: readonly BackendSnapshot[];
}

export class SnapshotStore {
  readonly #backend: StorageBackend;
  readonly #snapshots = new Map<string, BackendSnapshot>();
  readonly #groups = new Map<string, BackendGroup>();

  constructor(backend: StorageBackend) {
    this.#backend = backend;
  }

  get all(): Iterable<BackendSnapshot> {
    return this.#snapshots.values();
  }

  /** Whether there is a snapshot or group of this name. */
  has(name: string): boolean {
    return (
      this.#byName(this.#snapshots, name) !== undefined || this.#byName(this.#groups, name) !== undefined
    );
  }

  /** Throws where it does not exist. */
  find(id: string): BackendSnapshot {
    const snapshot = this.#snapshots.get(id);
    if (snapshot === undefined) throw refuse.notFound(`snapshot ${id} does not exist`);
    return snapshot;
  }

  *remains(): Generator<{ text: string; id: string }> {
    for (const { id, name, source } of this.#snapshots.values())
      yield { text: `snapshot ${id} (${name}) of ${source}`, id };
    for (const { id, name } of this.#groups.values()) yield { text: `group snapshot ${id} (${name})`, id };
  }

  operations(): Partial<ControllerOperations> {
    const backend = this.#backend;
    const { plan } = backend;
    if (!plan.snapshots) return {};
    return {
      createSnapshot: async ({ name, sourceVolumeId }) => {
        await backend.work('CreateSnapshot', name);
        const known = this.#byName(this.#snapshots, name);
        if (known && known.source !== sourceVolumeId)
          throw refuse.alreadyExists(`snapshot ${name} is of volume ${known.source}`);
        if (known) return { snapshot: this.#described(known) };
        this.#checkRoom();
        return { snapshot: this.#described(this.#cut(name, sourceVolumeId)) };
      },
      deleteSnapshot: async ({ snapshotId }) => {
        await backend.work('DeleteSnapshot', snapshotId);
        const snapshot = this.#snapshots.get(snapshotId);
        if (snapshot?.group) throw refuse.invalidArgument(`snapshot ${snapshotId} is a member of a group`);
        if (snapshot) this.#drop(snapshot);
        return {};
      },
      ...(plan.lists
        ? {
            listSnapshots: async ({ snapshotId }) => {
              const all = [...this.#snapshots.values()].filter(({ id }) => !snapshotId || id === snapshotId);
              return { entries: all.map((snapshot) => ({ snapshot: this.#described(snapshot) })) };
            },
          }
        : {
            getSnapshot: async ({ snapshotId }) => ({ snapshot: this.#described(this.find(snapshotId)) }),
          }),
    };
  }

  groupOperations(): GroupControllerOperations {
    const backend = this.#backend;
    return {
      createVolumeGroupSnapshot: async ({ name, sourceVolumeIds }) => {
        await backend.work('CreateVolumeGroupSnapshot', name);
        const known = this.#byName(this.#groups, name);
        if (known) {
          const sources = known.members.map(({ source }) => source);
          if (sources.toSorted().join() !== sourceVolumeIds.toSorted().join())
            throw refuse.alreadyExists(`group snapshot ${name} is of other volumes`);
          return { groupSnapshot: this.#describedGroup(known) };
        }
        this.#checkRoom();
        for (const source of sourceVolumeIds) backend.find(source);
        const id = `${backend.plan.short}-g-${backend.random.suffix(6)}`;
        const members = sourceVolumeIds.map((source) => this.#cut('', source, { id, name }));
        const group = { id, name, members };
        this.#groups.set(id, group);
        return { groupSnapshot: this.#describedGroup(group) };
      },
      deleteVolumeGroupSnapshot: async ({ groupSnapshotId }) => {
        await backend.work('DeleteVolumeGroupSnapshot', groupSnapshotId);
        for (const member of this.#groups.get(groupSnapshotId)?.members ?? []) this.#drop(member);
        this.#groups.delete(groupSnapshotId);
        return {};
      },
      getVolumeGroupSnapshot: async ({ groupSnapshotId }) => {
        const group = this.#groups.get(groupSnapshotId);
        if (group === undefined) throw refuse.notFound(`group snapshot ${groupSnapshotId} does not exist`);
        return { groupSnapshot: this.#describedGroup(group) };
      },
    };
  }

  #byName<T extends { name: string }>(from: ReadonlyMap<string, T>, name: string): T | undefined {
    for (const each of from.values()) if (each.name === name) return each;
    return undefined;
  }

  #checkRoom(): void {
    if (this.#backend.isFull) throw refuse.resourceExhausted('no room left for a snapshot');
  }

  #cut(name: string, source: string, group?: Omit<BackendGroup, 'members'>): BackendSnapshot {
    const { plan, random, clock } = this.#backend;
    const { bytes } = this.#backend.find(source);
    const cutAtMs = clock.now();
    const snapshot: BackendSnapshot = {
      id: `${plan.short}-s-${random.suffix(6)}`,
      name,
      source,
      bytes,
      cutAtMs,
      readyAtMs: clock.monotonicMs() + (plan.readyMs ?? 0),
      group: group?.id ?? '',
    };
    this.#snapshots.set(snapshot.id, snapshot);
    this.#tell('cut', snapshot, group?.name ?? name);
    return snapshot;
  }

  #drop(snapshot: BackendSnapshot): void {
    if (this.#snapshots.delete(snapshot.id)) this.#tell('deleted', snapshot, snapshot.name);
  }

  /** `name`: the one that was asked for, of a member its group's. */
  #tell(change: 'cut' | 'deleted', { id, source, group, readyAtMs }: BackendSnapshot, name: string): void {
    const driver = this.#backend.plan.name;
    this.#backend.add({ kind: 'snapshot', driver, change, snapshot: id, source, group, name, readyAtMs });
  }

  #described({ id, source, bytes, cutAtMs, readyAtMs, group }: BackendSnapshot) {
    return {
      snapshotId: id,
      sourceVolumeId: source,
      sizeBytes: bytes,
      creationTime: timestamp(cutAtMs),
      readyToUse: this.#backend.clock.monotonicMs() >= readyAtMs,
      groupSnapshotId: group,
    };
  }

  #describedGroup({ id, members }: BackendGroup) {
    const snapshots = members.map((member) => this.#described(member));
    return {
      groupSnapshotId: id,
      snapshots,
      readyToUse: snapshots.every(({ readyToUse }) => readyToUse),
      creationTime: timestamp(members[0]?.cutAtMs ?? 0),
    };
  }
}

function timestamp(ms: number) {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: Math.floor(ms % 1000) * 1_000_000 };
}
