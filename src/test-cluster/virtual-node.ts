// One node of a virtual cluster: a disk and a mount table in memory, and the driver with its registrar behind paths that
// only this process knows.

import type { CsiConnection } from '../csi/client/connect-csi.ts';
import { loopbackTransport } from '../csi/client/loopback-transport.ts';
import { parseDriverName } from '../csi/names/driver-name.ts';
import type { Driver } from '../driver/driver.ts';
import { driverServices } from '../driver/driver-services.ts';
import { silentLog } from '../runtime/log/log.ts';
import { type MemoryMounter, memoryMounter } from '../runtime/mount/memory-mounter.ts';
import type { Clock, Random } from '../runtime/ports.ts';
import { registrationServices } from '../sidecars/node-registrar/registration-service.ts';
import { type MemoryFiles, memoryFiles } from '../simulation/memory-files.ts';
import { connection } from '../simulation/sim-node.ts';

/** What a driver on a virtual node works with, instead of the machine's. */
export interface VirtualMachine {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The node's mount table. */
  readonly mounter: MemoryMounter;
}

export class VirtualNode {
  readonly machine: VirtualMachine;
  readonly files: MemoryFiles;
  readonly root: string;
  readonly socket: string;
  readonly driver: Driver;
  readonly #registration: string;

  constructor(
    given: { nodeName: string; clock: Clock; random: Random },
    makeDriver: (machine: VirtualMachine) => Driver,
  ) {
    const mounter = memoryMounter();
    this.machine = { ...given, mounter };
    this.files = memoryFiles(mounter);
    this.driver = makeDriver(this.machine);
    this.root = `/virtual/${given.nodeName}`;
    this.socket = `${this.root}/plugins/${this.driver.name}/csi.sock`;
    this.#registration = `${this.root}/plugins_registry/${this.driver.name}-reg.sock`;
    this.files.setSocket(this.#registration, '1');
  }

  /** Undefined when nothing of this node listens there. */
  connect(address: string): CsiConnection | undefined {
    const { clock } = this.machine;
    const options = { clock, log: silentLog, address };
    if (address === this.socket) {
      return connection(address, loopbackTransport(this.#services(), options));
    }
    if (address !== this.#registration) return undefined;
    const services = registrationServices({
      driverName: parseDriverName(this.driver.name),
      endpoint: this.socket,
      requiresPublishPod: false,
      log: silentLog,
      onRefused: () => {},
    });
    return connection(address, loopbackTransport(services, options));
  }

  #services() {
    return driverServices(this.driver, { log: silentLog });
  }
}
