// Serves hostpath for a cluster on this machine: one core over one directory of volumes, the controller service on one
// socket, and a node service for each node on a socket in that node's plugins directory.

import { join } from 'node:path';
import type { Interceptor } from '../../../csi/server/serve-call.ts';
import type { CsiServer } from '../../../csi/server/serve-csi.ts';
import type { Mounter } from '../../../runtime/mount/mounter.ts';
import type { Clock, Log, Random } from '../../../runtime/ports.ts';
import { serveDriver } from '../../serve-driver.ts';
import { createHostpath } from '../create-hostpath.ts';

/** Plain data, so that it can be sent to a worker thread. */
export interface HostpathPlan {
  /** Directory of state and volumes. */
  readonly home: string;
  readonly version: string;
  readonly controllerSocket: string;
  /** See `HostpathSettings`. */
  readonly noImages?: string;
  readonly nodes: readonly HostpathNodePlan[];
}

export interface HostpathNodePlan {
  readonly nodeId: string;
  readonly topology: Readonly<Record<string, string>>;
  readonly socket: string;
}

export interface HostpathPorts {
  mounter: Mounter;
  clock: Clock;
  random: Random;
  log: Log;
  /** Observes incoming calls. */
  interceptors?: readonly Interceptor[];
}

const GRACE_MS = 5_000;

/** Resolves, once it serves, with a function that stops it after the calls in flight. */
export async function serveHostpath(plan: HostpathPlan, ports: HostpathPorts): Promise<() => Promise<void>> {
  const { mounter, clock, random, log, interceptors = [] } = ports;
  const hostpath = await createHostpath({
    stateDir: join(plan.home, 'state'),
    version: plan.version,
    ...(plan.noImages !== undefined && { noImages: plan.noImages }),
    mounter,
    clock,
    random,
    log,
  });
  const drivers = plan.nodes.map(({ nodeId, topology, socket }) => ({
    endpoint: socket,
    driver: hostpath.driver({ node: { nodeId, topology } }),
  }));
  // After the nodes are known: topology depends on their segments.
  const controller = { endpoint: plan.controllerSocket, driver: hostpath.driver({ controller: true }) };
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
  return stop;
}
