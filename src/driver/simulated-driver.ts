// What a module exports so that `berth sim --driver-module` can run its driver: the storage, behind a port that faults can strike, and
// how a process of the driver is started. Types, and a function that keeps them.

import type { Mounter } from '../runtime/mount/mounter.ts';
import type { Clock, Log, Random } from '../runtime/ports.ts';
import type { Driver } from './driver.ts';

/** A volume that the storage has. */
export interface SimulatedVolume {
  readonly id: string;
  readonly name: string;
  readonly bytes: bigint;
  /** Node IDs; empty where the driver does not attach. */
  readonly attachedTo: readonly string[];
}

/** The storage of one run. It survives crashes of the driver and of nodes. */
export interface SimulatedStorage<P extends object> {
  /**
   * What the driver may call. Every method returns a promise. Each call takes time, and can fail before or after it took effect;
   * the driver can crash before or after it.
   */
  readonly port: P;
  /** What the storage really has now. Read by the rules, never by the driver. */
  volumes(): Iterable<SimulatedVolume>;
}

/** Files of a simulated machine, below the kubelet's directory. */
export interface SimulatedFiles {
  /** With its parents. */
  makeDirectory(path: string): Promise<void>;
  /** An empty one, for a raw block volume to be bound to. */
  makeFile(path: string): Promise<void>;
  /** An empty directory or file; nothing happens if there is none. Fails on a mount point. */
  remove(path: string): Promise<void>;
}

/** What a process of the driver gets instead of the machine's. */
export interface SimulatedProcess<P extends object> {
  readonly port: P;
  /** Undefined in the process that serves the controller. */
  readonly nodeName: string | undefined;
  /** Topology of the node, for drivers with topology; empty in the controller's process. */
  readonly segments: Readonly<Record<string, string>>;
  /** The node's mount table, which a reboot empties. */
  readonly mounter: Mounter;
  readonly files: SimulatedFiles;
  /** Virtual time. */
  readonly clock: Clock;
  /** Seeded. */
  readonly random: Random;
  readonly log: Log;
}

export interface SimulatedDriver<P extends object> {
  /** Called once for each run. */
  storage(ports: { readonly clock: Clock; readonly random: Random }): SimulatedStorage<P>;
  /**
   * Starts a process of the driver: one for the controller and one for each node, and again after each crash. What it keeps in memory
   * is lost with it. It must reach nothing but what it is given.
   */
  driver(process: SimulatedProcess<P>): Driver;
}

/** To be the default export of the module. */
export function simulatedDriver<P extends object>(definition: SimulatedDriver<P>): SimulatedDriver<P> {
  return definition;
}
