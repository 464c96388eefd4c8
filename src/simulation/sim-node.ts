// One simulated machine: disk, mount table, and the drivers' node plugins with their registrars. It outlives its node
// agent, which is a process of its own. A reboot empties the mount table and keeps the disk.

import type { CsiConnection } from '../csi/client/connect-csi.ts';
import { loopbackTransport } from '../csi/client/loopback-transport.ts';
import type { CsiTransport } from '../csi/client/transport.ts';
import { parseDriverName } from '../csi/names/driver-name.ts';
import { silentLog } from '../runtime/log/log.ts';
import { type MemoryMounter, memoryMounter } from '../runtime/mount/memory-mounter.ts';
import type { Clock } from '../runtime/ports.ts';
import { registrationServices } from '../sidecars/node-registrar/registration-service.ts';
import type { ConnectionState } from '../wire/grpc/channel.ts';
import type { DriverBackend } from './driver-backend.ts';
import { type MemoryFiles, memoryFiles } from './memory-files.ts';
import type { NodePlan } from './plan.ts';
import type { NodeStorage } from './storage-backend.ts';

export const KUBELET_ROOT = '/var/lib/kubelet';

export class SimNode {
  readonly plan: NodePlan;
  readonly mounter: MemoryMounter;
  readonly files: MemoryFiles;
  readonly storage = new Map<string, NodeStorage>();
  readonly #clock: Clock;
  /** How often it rebooted. */
  boots = 0;
  #sockets = 0;
  /** Hear when the connection to a driver was lost and is back. */
  readonly #followers = new Map<string, Set<(state: ConnectionState) => void>>();

  constructor(plan: NodePlan, backends: readonly DriverBackend[], clock: Clock) {
    this.plan = plan;
    this.#clock = clock;
    this.mounter = memoryMounter();
    this.files = memoryFiles(this.mounter);
    for (const backend of backends) {
      const storage: NodeStorage = {
        name: plan.name,
        zone: plan.zone,
        mounter: this.mounter,
        files: this.files,
        staged: new Map(),
        published: new Map(),
      };
      this.storage.set(backend.plan.name, storage);
      backend.addNode(storage);
      this.announce(backend.plan.name);
    }
  }

  /** The driver's registrar (re)starts and makes a new socket. */
  announce(driver: string): void {
    this.#sockets += 1;
    this.files.setSocket(this.#registrationSocket(driver), `${this.#sockets}`);
  }

  /** The driver restarts while its registrar runs on: connections to it break, and are made again. */
  reconnect(driver: string): void {
    for (const follow of [...(this.#followers.get(driver) ?? [])]) {
      follow('connecting');
      follow('ready');
    }
  }

  reboot(): void {
    this.boots += 1;
    this.mounter.reboot();
    for (const storage of this.storage.values()) {
      storage.staged.clear();
      storage.published.clear();
    }
    for (const driver of this.storage.keys()) this.announce(driver);
  }

  /** The transport to the registrar or driver that listens at this path; `toDriver` adds faults. */
  connect(address: string, toDriver: (driver: string) => CsiTransport): CsiConnection {
    for (const driver of this.storage.keys()) {
      if (address === this.#driverSocket(driver)) {
        const followers = this.#followers.get(driver) ?? new Set();
        this.#followers.set(driver, followers);
        return connection(address, toDriver(driver), followers);
      }
      if (address !== this.#registrationSocket(driver)) continue;
      const services = registrationServices({
        driverName: parseDriverName(driver),
        endpoint: this.#driverSocket(driver),
        requiresPublishPod: false,
        log: silentLog,
        // The registrar exits. When its container is restarted it makes a new socket.
        onRefused: () => this.#clock.setTimeout(() => this.announce(driver), 10_000),
      });
      return connection(
        address,
        loopbackTransport(services, { clock: this.#clock, log: silentLog, address }),
      );
    }
    throw new Error(`nothing listens at ${address}`);
  }

  /** Files of pods and volumes on the disk. */
  remains(): string[] {
    return this.files
      .paths()
      .filter((path) => path.startsWith(`${KUBELET_ROOT}/pods/`) || path.endsWith('vol_data.json'));
  }

  #registrationSocket(driver: string): string {
    return `${KUBELET_ROOT}/plugins_registry/${driver}-reg.sock`;
  }

  #driverSocket(driver: string): string {
    return `${KUBELET_ROOT}/plugins/${driver}/csi.sock`;
  }
}

/** A connection that is always ready, over a transport in this process. */
export function connection(
  address: string,
  transport: CsiTransport,
  followers = new Set<(state: ConnectionState) => void>(),
): CsiConnection {
  return {
    address,
    state: 'ready',
    onStateChange(listener) {
      followers.add(listener);
      return () => followers.delete(listener);
    },
    waitForReady: async () => {},
    close: () => {},
    call: (method, request, options) => transport.call(method, request, options),
    stream: () => {
      throw new Error('nothing in a node is streamed');
    },
  };
}
