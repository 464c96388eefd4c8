// The storage of the example: an array of disks with an API such as vendors have. Making a disk is not idempotent: two requests with one
// label make two disks. In production the port is a client of the array; in the simulation it is an array in memory.

import type { SimulatedStorage } from '../../src/driver/index.ts';

export interface Disk {
  readonly id: string;
  readonly label: string;
  readonly bytes: bigint;
  readonly attachedTo: string | undefined;
}

/** The port: what the driver asks of the array. */
export interface DiskArray {
  createDisk(label: string, bytes: bigint): Promise<Disk>;
  findDisk(label: string): Promise<Disk | undefined>;
  getDisk(id: string): Promise<Disk | undefined>;
  deleteDisk(id: string): Promise<void>;
  attachDisk(id: string, node: string): Promise<void>;
  detachDisk(id: string, node: string): Promise<void>;
}

export function memoryArray(): SimulatedStorage<DiskArray> {
  const disks = new Map<string, Disk>();
  let made = 0;
  const set = (id: string, attachedTo: string | undefined): void => {
    const disk = disks.get(id);
    if (disk) disks.set(id, { ...disk, attachedTo });
  };
  return {
    port: {
      async createDisk(label, bytes) {
        const disk = { id: `disk-${++made}`, label, bytes, attachedTo: undefined };
        disks.set(disk.id, disk);
        return disk;
      },
      findDisk: async (label) => [...disks.values()].find((disk) => disk.label === label),
      getDisk: async (id) => disks.get(id),
      deleteDisk: async (id) => void disks.delete(id),
      attachDisk: async (id, node) => set(id, node),
      async detachDisk(id, node) {
        if (disks.get(id)?.attachedTo === node) set(id, undefined);
      },
    },
    *volumes() {
      for (const { id, label, bytes, attachedTo } of disks.values())
        yield { id, name: label, bytes, attachedTo: attachedTo === undefined ? [] : [attachedTo] };
    },
  };
}
