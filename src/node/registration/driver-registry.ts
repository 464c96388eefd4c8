// The currently registered drivers of this node. In memory only: after a restart they register again.

import type { CsiConnection } from '../../csi/client/connect-csi.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { NodeDriver } from '../../csi-plugin/mount/mount-plugin.ts';
import type { DriverFacts } from './driver-facts.ts';

export interface RegisteredDriver extends NodeDriver {
  readonly transport: CsiConnection;
  readonly endpoint: string;
  /** Its answers at registration. */
  readonly facts: DriverFacts;
  /** Its registration socket. */
  readonly socket: string;
  close(): void;
}

export class DriverRegistry {
  readonly #drivers = new Map<string, RegisteredDriver>();
  readonly #listeners = new Set<(name: DriverName) => void>();

  get(name: string): RegisteredDriver | undefined {
    return this.#drivers.get(name);
  }

  names(): string[] {
    return [...this.#drivers.keys()].sort();
  }

  /** Replaces a driver of the same name. */
  add(driver: RegisteredDriver): void {
    this.#drivers.get(driver.name)?.close();
    this.#drivers.set(driver.name, driver);
    for (const listener of this.#listeners) listener(driver.name);
  }

  /** True if this socket's driver was the registered one. */
  remove(name: DriverName, socket: string): boolean {
    const driver = this.#drivers.get(name);
    if (driver === undefined || driver.socket !== socket) return false;
    this.#drivers.delete(name);
    driver.close();
    for (const listener of this.#listeners) listener(name);
    return true;
  }

  /** Called with the name of each driver that is added or removed. */
  subscribe(listener: (name: DriverName) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  closeAll(): void {
    for (const driver of this.#drivers.values()) driver.close();
    this.#drivers.clear();
  }
}
