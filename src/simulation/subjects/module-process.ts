// One process of a driver under test: the controller's or a node's. It can crash at any call to its storage, its mounts or its files, and
// is then started again with nothing but what is stored. What a dead process waits for never answers; its callers lose the connection.

import { loopbackTransport } from '../../csi/client/loopback-transport.ts';
import type { CsiCallOptions, CsiTransport } from '../../csi/client/transport.ts';
import { CsiError } from '../../csi/csi-error.ts';
import { type Driver, defineDriver } from '../../driver/driver.ts';
import { driverServices } from '../../driver/driver-services.ts';
import type { SimulatedDriver, SimulatedFiles, SimulatedProcess } from '../../driver/simulated-driver.ts';
import { silentLog } from '../../runtime/log/log.ts';
import type { Mounter } from '../../runtime/mount/mounter.ts';
import type { Clock, Random } from '../../runtime/ports.ts';
import type { SeededRandom } from '../../runtime/random.ts';
import type { DescMethodUnary, Message } from '../../wire/protobuf/descriptor.ts';
import type { DriverFault, Faults } from '../faults.ts';
import type { History } from '../history.ts';
import { never, SimProcess } from '../sim-process.ts';
import { textOf } from './load-driver-module.ts';

export interface ModuleProcessOptions {
  /** In the history. */
  name: string;
  definition: SimulatedDriver<object>;
  /** What it works with, without faults. */
  reach: {
    port: object;
    mounter: Mounter;
    files: SimulatedFiles;
    nodeName: string | undefined;
    segments: Readonly<Record<string, string>>;
  };
  clock: Clock;
  random: SeededRandom;
  faults: Faults;
  history: History;
  /** How long the driver works on this call before it reaches anything. */
  paceOf(method: string, volume: string): number;
  /** After each call to the storage: it may have changed. */
  onReached(): void;
}

const RESTART_MS = 5_000;

export class ModuleProcess {
  readonly #options: ModuleProcessOptions;
  readonly #strikes: (call: string) => DriverFault | undefined;
  readonly #chance: Random;
  #process: SimProcess;
  #transport: CsiTransport | undefined;
  readonly #underWay = new Set<(error: CsiError) => void>();
  #starts = 0;

  constructor(options: ModuleProcessOptions) {
    this.#options = options;
    this.#strikes = options.faults.driver(options.name);
    this.#chance = options.random.fork('chance');
    this.#process = new SimProcess(options.name, options.clock);
    this.#start();
  }

  /** Kills it. It is started again after this time. */
  crash(restartAfterMs: number): void {
    if (!this.#process.alive) return;
    const { clock, history, name } = this.#options;
    history.add({ kind: 'process', process: name, what: 'crashes' });
    this.#process.crash();
    this.#transport = undefined;
    for (const fail of [...this.#underWay]) fail(gone('the driver crashed'));
    this.#underWay.clear();
    if (restartAfterMs === 0) this.#start();
    else clock.setTimeout(() => this.#start(), restartAfterMs);
  }

  async call(method: DescMethodUnary, request: Message, options: CsiCallOptions): Promise<Message> {
    const transport = this.#transport;
    if (transport === undefined) throw gone('the driver is not running');
    return new Promise((resolve, reject) => {
      this.#underWay.add(reject);
      transport
        .call(method, request as never, options)
        .then(resolve, reject)
        .finally(() => this.#underWay.delete(reject));
    });
  }

  #start(): void {
    const { clock, definition, history, name, random, reach } = this.#options;
    this.#starts += 1;
    if (this.#starts > 1) history.add({ kind: 'process', process: name, what: 'starts' });
    const process = new SimProcess(name, clock);
    this.#process = process;
    const given: SimulatedProcess<object> = {
      nodeName: reach.nodeName,
      segments: reach.segments,
      port: this.#struck(process, reach.port),
      mounter: this.#struck(process, reach.mounter),
      files: this.#struck(process, reach.files),
      clock: process.clock,
      random: random.fork(`start ${this.#starts}`),
      log: silentLog,
    };
    try {
      const driver = this.#paced(process, defineDriver(definition.driver(given)));
      const services = driverServices(driver, { log: silentLog });
      this.#transport = loopbackTransport(services, { clock, log: silentLog, address: name });
    } catch (error) {
      history.violate('component-failed', `${name} does not start: ${textOf(error)}`);
    }
  }

  /** The same driver, each operation of which takes its time, while the SDK holds its locks. */
  #paced(process: SimProcess, driver: Driver): Driver {
    const slow = (operations: object | undefined) =>
      operations &&
      Object.fromEntries(
        Object.entries(operations).map(([name, operation]: [string, (...args: unknown[]) => unknown]) => [
          name,
          async (request: { volumeId?: string; name?: string }, ...rest: unknown[]) => {
            const method = name.replace(/^./, (letter) => letter.toUpperCase());
            await process.clock.sleep(this.#options.paceOf(method, request.volumeId ?? request.name ?? ''));
            return operation.call(operations, request, ...rest);
          },
        ]),
      );
    const { controller, node } = driver;
    // Wrapping loses the static types of the operations.
    return { ...driver, controller: slow(controller), node: slow(node) } as unknown as Driver;
  }

  /** The same object, each method of which takes time and can fail or be the last thing that the process does. */
  #struck<T extends object>(process: SimProcess, target: T): T {
    return new Proxy(target, {
      get: (_, key) => {
        const value: unknown = Reflect.get(target, key);
        if (typeof value === 'function')
          return (...args: unknown[]) => this.#reach(process, String(key), () => value.apply(target, args));
        return typeof value === 'object' && value !== null ? this.#struck(process, value) : value;
      },
    });
  }

  async #reach(process: SimProcess, call: string, perform: () => unknown): Promise<unknown> {
    if (!process.alive) return never();
    const { clock, onReached } = this.#options;
    const strike = this.#strikes(call);
    await clock.sleep(strike === 'storage-slow' ? 500 + this.#chance.int(9_000) : 1 + this.#chance.int(4));
    if (!process.alive) return never();
    if (strike === 'driver-crash-before') {
      this.crash(this.#chance.int(RESTART_MS));
      return never();
    }
    if (strike === 'storage-fails') throw new Error(`${call} did not reach the storage`);
    const answer = await perform();
    onReached();
    if (strike === 'driver-crash-after') this.crash(this.#chance.int(RESTART_MS));
    if (!process.alive) return never();
    if (strike === 'storage-lost-after') throw new Error(`the answer to ${call} was lost`);
    return answer;
  }
}

function gone(message: string): CsiError {
  return new CsiError({ code: 'UNAVAILABLE', message });
}
