// The flags of `berth up` and `berth try` that bring a driver.

import { type DriverSockets, parseDriverSockets } from '../cluster/brought-driver.ts';
import { flagOf, InvalidValue, mapFlag } from '../runtime/flags/flag.ts';
import { UsageError } from './command.ts';

export const driverFlags = {
  driver: flagOf<readonly DriverSockets[]>(
    {
      type: 'sockets',
      parse(text, previous = []) {
        try {
          return [...previous, parseDriverSockets(text)];
        } catch (error) {
          throw new InvalidValue((error as Error).message);
        }
      },
      format: (value) => value.map(({ controller, nodes }) => [controller, ...nodes].join(',')).join(' '),
    },
    {
      help:
        'Socket of your own CSI driver, as unix:///csi.sock; or, with separate sockets for controller and nodes, ' +
        'CONTROLLER,NODE-1,NODE-2. May be repeated',
      default: [],
    },
  ),
  exec: flagOf<readonly string[]>(
    {
      type: 'command',
      parse(text, previous = []) {
        if (text.trim() === '') throw new InvalidValue('must be a command');
        return [...previous, text];
      },
      format: (value) => value.join(' '),
    },
    {
      help:
        "Command that runs your driver, as './my-driver --endpoint=$CSI_ENDPOINT --nodeid=$NODE_ID'; Berth starts it, starts " +
        'it again when it ends, and stops it. May be repeated: with --driver the n-th command gets the n-th socket, without it ' +
        'Berth chooses the sockets, and the n-th command is the same driver on the n-th node',
      default: [],
    },
  ),
  'class-parameters': mapFlag({ help: 'Parameters of the StorageClasses that are created for your drivers' }),
};

/** How many nodes the drivers are on; undefined without one. A driver without topology cannot keep its pods off other nodes. */
export function nodesOfDrivers(flags: {
  driver: readonly DriverSockets[];
  exec: readonly string[];
}): number | undefined {
  const { driver, exec } = flags;
  if (driver.length > 0) return Math.max(1, ...driver.map(({ nodes }) => nodes.length));
  return exec.length > 0 ? exec.length : undefined;
}

/** With `--rootless`: only what Berth starts is in its namespace. */
export function checkRootlessDrivers(flags: { driver: readonly unknown[]; exec: readonly unknown[] }): void {
  if (flags.driver.length === 0 || flags.exec.length > 0) return;
  throw new UsageError(
    '--rootless: a driver outside of the namespace cannot mount into it; let Berth start it with --exec',
  );
}
