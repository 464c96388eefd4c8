// The faults of a cluster on this machine: which can be set, how a component's calls meet them, and what a crash is here. Says on
// each CSIDriver object which faults are set, so that `berth why` and the page know.

import { csiDrivers } from '../api/kinds.ts';
import { ANN_FAULTS } from '../api/well-known.ts';
import type { ApiServer } from '../apiserver/index.ts';
import type { CsiConnection } from '../csi/client/connect-csi.ts';
import { ActiveFaults } from '../faults/active-faults.ts';
import { callMatches, type Fault } from '../faults/fault.ts';
import { answerFaults } from '../faults/faults-path.ts';
import { faultyConnection } from '../faults/faulty-connection.ts';
import { FaultError } from '../faults/parse-fault.ts';
import { nearestOf } from '../runtime/flags/parse-flags.ts';
import { ifThere } from '../runtime/kube/if-there.ts';
import type { Clock, Log, Random } from '../runtime/ports.ts';
import type { MortalProcess } from '../runtime/process/mortal-process.ts';
import type { PathHandler } from '../runtime/process/path-handler.ts';
import type { ClusterDriver } from './cluster-driver.ts';
import { type Component, ComponentLives } from './component-lives.ts';

/** Calls that only one component makes, so that a crash of another would never happen. */
const CALLERS: Readonly<Record<string, string>> = {
  CreateVolume: 'provisioner',
  DeleteVolume: 'provisioner',
  GetCapacity: 'provisioner',
  ControllerPublishVolume: 'attacher',
  ControllerUnpublishVolume: 'attacher',
  ControllerExpandVolume: 'resizer',
  ControllerModifyVolume: 'resizer',
  CreateSnapshot: 'snapshotter',
  DeleteSnapshot: 'snapshotter',
  CreateVolumeGroupSnapshot: 'snapshotter',
  DeleteVolumeGroupSnapshot: 'snapshotter',
};
const SIDECARS = [...new Set([...Object.values(CALLERS), 'health-monitor', 'snapshot-metadata'])];
/** Any of the nodes. */
const NODE = 'node';

export interface ClusterFaultsOptions {
  clock: Clock;
  random: Random;
  log: Log;
  nodeNames: readonly string[];
  /** Names of parts that somebody else runs: their calls do not pass here. */
  without: ReadonlySet<string>;
}

export class ClusterFaults {
  readonly active: ActiveFaults;
  readonly lives: ComponentLives;
  readonly #options: ClusterFaultsOptions;
  #drivers: readonly ClusterDriver[] = [];
  #server: Pick<ApiServer, 'client' | 'adminUser' | 'reader'> | undefined;
  /** Marks are written one after the other. */
  #marking: Promise<void> = Promise.resolve();

  constructor(options: ClusterFaultsOptions) {
    const { clock, random, log } = options;
    this.#options = options;
    this.lives = new ComponentLives({ clock, log });
    this.active = new ActiveFaults({
      random,
      check: (fault) => this.#check(fault),
      onChange: () => this.#mark(),
      onStrike: ({ id }, { method, by }) =>
        log.warn('A fault struck a call', { fault: id, method, part: by[0] ?? '' }),
    });
  }

  /** Once the drivers are known. Takes marks away that an earlier process left. */
  begin(server: Pick<ApiServer, 'client' | 'adminUser' | 'reader'>, drivers: readonly ClusterDriver[]): void {
    this.#server = server;
    this.#drivers = drivers;
    this.#mark();
  }

  /** For the API server. */
  readonly path: PathHandler = Object.assign(
    async (asked: Parameters<PathHandler>[0]): Promise<void> => answerFaults(this.active, asked),
    { writes: true },
  );

  /** The connection as this component has it. */
  connectionOf(connection: CsiConnection, component: Component & { process: MortalProcess }): CsiConnection {
    const { name, process } = component;
    const isNode = this.#options.nodeNames.includes(name);
    const driver = component.driver ?? this.#driverAt(connection.address);
    return faultyConnection(connection, {
      faults: this.active,
      driver,
      by: isNode ? [name, NODE] : [name],
      node: isNode ? name : undefined,
      dead: process.signal,
      clock: this.#options.clock,
      crash: (which, address) => {
        if (which === 'driver') this.crashDriver(driver, address);
        else this.lives.crash(name, component.driver);
      },
    });
  }

  /** Kills the driver's process; without an address the one that has its controller service. False: it cannot be. */
  crashDriver(name: string | undefined, address?: string): boolean {
    const driver = this.#drivers.find((each) => name === undefined || each.name === name);
    if (driver?.kill === undefined) return false;
    driver.kill(address ?? driver.controllerSocket);
    return true;
  }

  /** Resolves once the objects say what is set. */
  marked(): Promise<void> {
    return this.#marking;
  }

  #driverAt(address: string): string | undefined {
    return this.#drivers.find(
      ({ controllerSocket, nodeSockets }) =>
        controllerSocket === address || [...nodeSockets.values()].includes(address),
    )?.name;
  }

  /** Refuses what could never strike here. */
  #check({ call, action, driver, node }: Fault): void {
    const names = this.#drivers.map((each): string => each.name);
    if (driver !== undefined && !names.includes(driver)) {
      throw new FaultError(`there is no driver ${driver} here; ${known(driver, names)}`);
    }
    const { nodeNames, without } = this.#options;
    if (node !== undefined && !nodeNames.includes(node)) {
      throw new FaultError(`there is no node ${node} here; ${known(node, nodeNames)}`);
    }
    const caller = Object.hasOwn(CALLERS, call) ? CALLERS[call] : undefined;
    if (caller !== undefined && without.has(caller)) {
      throw new FaultError(
        `${call} is called by the ${caller}, which does not run here (--without): put \`berth proxy\` before its driver`,
      );
    }
    if ('component' in action) this.#checkCrash(call, action.component, driver);
  }

  #checkCrash(call: string, component: string, driver: string | undefined): void {
    const { nodeNames } = this.#options;
    if (component === 'driver') {
      const fixed = this.#drivers.find(({ name, kill }) => kill === undefined && (driver ?? name) === name);
      if (fixed === undefined) return;
      throw new FaultError(
        `${fixed.name} was not started by Berth and cannot be crashed; let Berth start it with --exec, or name another with driver=`,
      );
    }
    const isOfNode = component === NODE || nodeNames.includes(component);
    if (!isOfNode && !SIDECARS.includes(component)) {
      const components = [...SIDECARS, NODE, ...nodeNames, 'driver'];
      throw new FaultError(`no component ${component} calls drivers; ${known(component, components)}`);
    }
    const caller = Object.hasOwn(CALLERS, call) ? CALLERS[call] : call.startsWith('Node') ? NODE : undefined;
    if (caller === undefined || caller === component || (caller === NODE && isOfNode)) return;
    if (Object.keys(CALLERS).some((each) => callMatches(call, each) && CALLERS[each] === component)) return;
    throw new FaultError(`${component} never calls ${call}; ${caller} does`);
  }

  /** What each CSIDriver object says about faults follows the list. */
  #mark(): void {
    const server = this.#server;
    if (server === undefined) return;
    const { log } = this.#options;
    this.#marking = this.#marking
      .then(async () => {
        const admin = server.client(server.adminUser);
        for (const { name } of this.#drivers) {
          const set = this.active.list().filter(({ isSpent }) => !isSpent);
          const text = set.map(({ id, fault }) => `${id}: ${fault}`).join('; ');
          const present = server.reader.get(csiDrivers, { name })?.metadata.annotations?.[ANN_FAULTS] ?? '';
          if (present === text) continue;
          const annotations = { [ANN_FAULTS]: text === '' ? null : text };
          const change = { metadata: { annotations } };
          await ifThere(admin.patch(csiDrivers, { name }, change, { type: 'merge' }));
        }
      })
      .catch((error: unknown) =>
        log.error('Could not say on the CSIDriver objects which faults are set', error),
      );
  }
}

function known(text: string, candidates: readonly string[]): string {
  const nearest = nearestOf(text, candidates);
  return nearest === undefined ? `there is ${candidates.join(', ') || 'none'}` : `did you mean ${nearest}?`;
}
