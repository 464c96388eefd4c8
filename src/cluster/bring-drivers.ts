// The drivers that a user brings: those that run already (`--driver`), and those that Berth starts (`--exec`). Starts the
// commands, waits until each driver answers, and identifies it. Owns the processes and the sockets it chose.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock, Log, Random } from '../runtime/ports.ts';
import {
  type BroughtDriver,
  BroughtDriverError,
  checkNodeCount,
  type DriverSockets,
  identifyBroughtDriver,
} from './brought-driver.ts';
import { type DriverProcess, startDriverProcess } from './driver-process.ts';

export interface BringOptions {
  /** `--driver`: where drivers listen. */
  sockets: readonly DriverSockets[];
  /**
   * `--exec`: commands for a shell. With `sockets`, the n-th gets the n-th socket. Without, Berth chooses the sockets: all
   * are one driver, the n-th command is on the n-th node, and the first has the controller service, too.
   */
  commands: readonly string[];
  nodeNames: readonly string[];
  clock: Clock;
  random: Random;
  log: Log;
  signal: AbortSignal;
}

export interface BroughtDrivers {
  readonly drivers: readonly BroughtDriver[];
  /** Ends the commands; after the cluster has stopped, which still needs the drivers. */
  stop(): Promise<void>;
}

/** How long a started driver may take until it answers. */
const START_MS = 30_000;
const LOOK_MS = 50;

export async function bringDrivers(options: BringOptions): Promise<BroughtDrivers> {
  const { commands, nodeNames, signal } = options;
  for (const each of options.sockets) checkNodeCount(each, nodeNames);
  if (commands.length === 0) {
    const drivers = await Promise.all(options.sockets.map((each) => identifyBroughtDriver(each, options)));
    return { drivers, stop: async () => {} };
  }
  // In a directory of its own: paths of sockets have 107 bytes at most.
  const home = options.sockets.length === 0 ? await mkdtemp(join(tmpdir(), 'berth-csi-')) : undefined;
  const sockets: readonly DriverSockets[] =
    home === undefined ? options.sockets : [chosenSockets(home, commands.length)];
  const places = sockets.flatMap((each) => placesOf(each, nodeNames));
  if (commands.length > places.length) {
    throw new BroughtDriverError(
      `there are ${commands.length} commands in --exec and ${places.length} sockets in --driver; ` +
        'give as many sockets as commands, or no --driver at all',
    );
  }
  const processes = commands.map((command, index) =>
    startDriverProcess(
      {
        command,
        part: index === 0 ? 'driver' : `driver-${index + 1}`,
        env: {
          CSI_ENDPOINT: `unix://${places[index]?.socket}`,
          NODE_ID: places[index]?.nodeName ?? '',
          KUBE_NODE_NAME: places[index]?.nodeName ?? '',
        },
      },
      options,
    ),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(processes.map((each) => each.stop()));
    if (home !== undefined) await rm(home, { recursive: true, force: true });
  };
  try {
    const found = await Promise.all(sockets.map((each) => startedDriver(each, processes, options)));
    const kill = (socket: string): void =>
      processes[places.findIndex((place) => place.socket === socket)]?.kill();
    // One without a command was started by somebody else.
    const isOurs = ({ controllerSocket, nodeSockets }: BroughtDriver): boolean =>
      [controllerSocket, ...nodeSockets.values()].every((socket) =>
        places.slice(0, commands.length).some((place) => place.socket === socket),
      );
    const drivers = found.map((each) => (isOurs(each) ? { ...each, kill } : each));
    return { drivers, stop };
  } catch (error) {
    await stop();
    signal.throwIfAborted();
    throw error;
  }
}

function chosenSockets(home: string, count: number): DriverSockets {
  const nodes = Array.from({ length: count }, (_, index) => join(home, `${index + 1}.sock`));
  return { controller: nodes[0] ?? '', nodes };
}

/** Each socket once, in the order of `--driver`, with the node that its commands are told. */
function placesOf(
  { controller, nodes }: DriverSockets,
  nodeNames: readonly string[],
): { socket: string; nodeName: string }[] {
  const named = nodes.map((socket, index) => ({ socket, nodeName: nodeNames[index] ?? '' }));
  const isSeparate = !nodes.includes(controller);
  return isSeparate ? [{ socket: controller, nodeName: nodeNames[0] ?? '' }, ...named] : named;
}

/** Asks again until the driver answers, one of the commands ends, or the time is over. */
async function startedDriver(
  sockets: DriverSockets,
  processes: readonly DriverProcess[],
  options: BringOptions,
): Promise<BroughtDriver> {
  const { clock } = options;
  const ended = Promise.race(processes.map((each) => each.ended)).catch((error: Error) => {
    throw new BroughtDriverError(`the driver did not start: ${error.message}`, { cause: error });
  });
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  const untilMs = clock.monotonicMs() + START_MS;
  const asked = async (): Promise<BroughtDriver> => {
    for (;;) {
      try {
        return await identifyBroughtDriver(sockets, { ...options, signal });
      } catch (error) {
        if (!(error instanceof BroughtDriverError) || clock.monotonicMs() > untilMs) throw error;
      }
      await clock.sleep(LOOK_MS, signal);
    }
  };
  return Promise.race([ended, asked()]).finally(() => over.abort());
}
