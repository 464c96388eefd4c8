// hostpath for a cluster on this machine: one core over one directory of volumes, its controller service on one socket,
// and a node service for each node on a socket in that node's own plugins directory.

import { join } from 'node:path';
import type { Interceptor } from '../csi/call-pipeline.ts';
import { type DriverName, parseDriverName } from '../csi/driver-name.ts';
import type { CsiServer } from '../csi/serve-csi.ts';
import { createHostpath } from '../driver/hostpath/create-hostpath.ts';
import { DEFAULT_DRIVER_NAME } from '../driver/hostpath/options.ts';
import { serveDriver } from '../driver/serve-driver.ts';
import type { Mounter } from '../runtime/mount/mounter.ts';
import type { Clock, Log, Random } from '../runtime/ports.ts';
import type { ClusterDriver } from './cluster-driver.ts';
import type { DataDirectory } from './data-directory.ts';
import type { PlannedNode } from './plan-nodes.ts';

export const HOSTPATH: DriverName = parseDriverName(DEFAULT_DRIVER_NAME);

export interface RunningHostpath extends ClusterDriver {
  /** Calls under way may end first. */
  stop(): Promise<void>;
}

const GRACE_MS = 5_000;

export async function startHostpath(options: {
  directory: DataDirectory;
  nodes: readonly PlannedNode[];
  version: string;
  mounter: Mounter;
  clock: Clock;
  random: Random;
  log: Log;
  /** See each call on its way in. */
  interceptors?: readonly Interceptor[];
}): Promise<RunningHostpath> {
  const { directory, nodes, version, mounter, clock, random, interceptors = [] } = options;
  const log = options.log.with({ part: 'hostpath' });
  const home = directory.driver('hostpath');
  const hostpath = await createHostpath({
    stateDir: join(home, 'state'),
    version,
    mounter,
    clock,
    random,
    log,
  });
  const drivers = nodes.map((node) => ({
    node: node.name,
    endpoint: join(directory.nodeRoot(node.name), 'plugins', HOSTPATH, 'csi.sock'),
    driver: hostpath.driver({ node: { nodeId: node.name, topology: node.segments } }),
  }));
  // After the nodes are known: whether there is topology depends on them.
  const controllerSocket = join(home, 'csi.sock');
  const controller = { endpoint: controllerSocket, driver: hostpath.driver({ controller: true }) };
  const servers: CsiServer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop(GRACE_MS)));
    hostpath.close();
  };
  try {
    await Promise.all(
      [controller, ...drivers].map(async ({ endpoint, driver }) => {
        servers.push(await serveDriver(driver, { endpoint, clock, log, interceptors }));
      }),
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    name: HOSTPATH,
    controllerSocket,
    nodeSockets: new Map(drivers.map(({ node, endpoint }) => [node, endpoint])),
    stop,
  };
}
