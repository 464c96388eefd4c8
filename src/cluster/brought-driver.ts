// A driver that is not part of Berth, in any language: found at its sockets and identified before the cluster starts. One
// that does not answer is an error at once, since a cluster without it could not work.

import { stat } from 'node:fs/promises';
import type { CSIDriver } from '../api/kinds.ts';
import type { Draft } from '../api/object.ts';
import { type CsiConnection, connectCsi } from '../csi/client/connect-csi.ts';
import { csiClient } from '../csi/client/csi-client.ts';
import { Node } from '../csi/generated/csi/v1/csi_pb.ts';
import { socketPath } from '../csi/names/socket-path.ts';
import { silentLog } from '../runtime/log/log.ts';
import type { Clock } from '../runtime/ports.ts';
import { askDriver, type Driver } from '../sidecars/common/identify-driver.ts';
import type { ClusterDriver } from './cluster-driver.ts';
import { inlineHandles } from './start-objects.ts';

/** `--driver CONTROLLER[,NODE…]`: the first socket has the controller service; the n-th after it is for the n-th node. */
export interface DriverSockets {
  controller: string;
  /** Empty: the one socket has both services and is on the first node. */
  nodes: readonly string[];
}

export interface BroughtDriver extends ClusterDriver {
  readonly abilities: Driver;
  /** Keys that its nodes' labels will have. */
  readonly topologyKeys: readonly string[];
}

/** The driver cannot be used: the message says why and what to do. */
export class BroughtDriverError extends Error {
  override readonly name = 'BroughtDriverError';
}

interface AskOptions {
  clock: Clock;
  signal: AbortSignal;
  /** To what listens at this path; default over a unix socket. */
  connect?: (address: string) => CsiConnection;
}

const TIMEOUT_MS = 5_000;

export function parseDriverSockets(text: string): DriverSockets {
  const [controller = '', ...nodes] = text.split(',').map((address) => socketPath(address.trim()));
  return { controller, nodes };
}

/** Throws when there are more node sockets than nodes. */
export function checkNodeCount({ nodes }: DriverSockets, nodeNames: readonly string[]): void {
  if (nodes.length <= nodeNames.length) return;
  throw new BroughtDriverError(
    `--driver names ${nodes.length} node sockets and there are ${nodeNames.length} nodes; ` +
      `add --nodes ${nodes.length}, or name fewer`,
  );
}

export async function identifyBroughtDriver(
  sockets: DriverSockets,
  options: AskOptions & { nodeNames: readonly string[] },
): Promise<BroughtDriver> {
  const { nodeNames } = options;
  checkNodeCount(sockets, nodeNames);
  const nodeAddresses = sockets.nodes.length === 0 ? [sockets.controller] : sockets.nodes;
  const abilities = await askBroughtDriver(sockets.controller, options);
  const keys = await Promise.all(
    nodeAddresses.map(async (address) => {
      const info = await asking(address, options, (connection, call) =>
        csiClient(Node, connection, call).nodeGetInfo({}, call),
      );
      return Object.keys(info.accessibleTopology?.segments ?? {});
    }),
  );
  return {
    name: abilities.name,
    abilities,
    controllerSocket: sockets.controller,
    nodeSockets: new Map(nodeAddresses.map((address, index) => [nodeNames[index] ?? '', address])),
    topologyKeys: [...new Set(keys.flat())],
  };
}

/** Who the driver at this socket is and what it can do. */
export const askBroughtDriver = (address: string, options: AskOptions): Promise<Driver> =>
  asking(address, options, (connection, call) => askDriver(connection, call));

/** Settings of the CSIDriver object that no CSI call reports. */
export interface DriverWishes {
  podInfoOnMount: boolean;
  /** In which modes pods may name its volumes inline. */
  lifecycleModes: readonly string[];
  fsGroupPolicy: string;
}

/** The CSIDriver object for a driver that has none yet. */
export function objectOfBroughtDriver(
  { name, abilities }: BroughtDriver,
  options: { wishes?: DriverWishes | undefined; inlineHandles: boolean },
): Draft<CSIDriver> {
  const { podInfoOnMount = false, lifecycleModes = ['Persistent'], fsGroupPolicy } = options.wishes ?? {};
  return {
    metadata: { name, ...inlineHandles(options) },
    spec: {
      attachRequired: abilities.controller.has('PUBLISH_UNPUBLISH_VOLUME'),
      podInfoOnMount,
      volumeLifecycleModes: [...lifecycleModes],
      ...(fsGroupPolicy !== undefined && { fsGroupPolicy }),
    },
  };
}

async function asking<T>(
  address: string,
  { clock, signal, connect }: AskOptions,
  question: (connection: CsiConnection, call: { timeoutMs: number; signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const found = connect ? undefined : await stat(address).catch(() => undefined);
  if (!connect && !found?.isSocket()) {
    throw new BroughtDriverError(
      `there is ${found === undefined ? 'nothing' : 'no socket'} at ${address}; start your driver with ` +
        `--endpoint unix://${address} (or as it wants to be told), then try again`,
    );
  }
  const connection = connect?.(address) ?? connectCsi({ address, clock, log: silentLog });
  try {
    return await question(connection, { timeoutMs: TIMEOUT_MS, signal });
  } catch (error) {
    signal.throwIfAborted();
    throw new BroughtDriverError(
      `the driver at ${address} does not answer as it should: ${(error as Error).message}; ` +
        'see that it runs and serves CSI 1.x there, then try again',
      { cause: error },
    );
  } finally {
    connection.close();
  }
}
