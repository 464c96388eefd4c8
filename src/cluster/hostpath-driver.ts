// hostpath as one of the cluster's drivers: its sockets and its thread. It runs in a worker thread, since it is reached over its
// sockets only and takes a third of the work; in the main thread when the caller wants to observe its calls.

import { join } from 'node:path';
import { type DriverName, parseDriverName } from '../csi/names/driver-name.ts';
import { DEFAULT_DRIVER_NAME } from '../driver/hostpath/options.ts';
import { startHostpathThread } from '../driver/hostpath/serving/hostpath-thread.ts';
import type { HostpathPlan, HostpathPorts } from '../driver/hostpath/serving/serve-hostpath.ts';
import type { ClusterDriver } from './cluster-driver.ts';
import type { DataDirectory } from './data-directory.ts';
import type { PlannedNode } from './plan-nodes.ts';

export const HOSTPATH: DriverName = parseDriverName(DEFAULT_DRIVER_NAME);

const NO_IMAGES =
  'this volume needs a loop device (it is a raw block volume, or has backing: image), and berth runs with --rootless, where ' +
  'volumes are directories; run it as root';

export interface RunningHostpath extends ClusterDriver {
  /** Calls under way may end first. */
  stop(): Promise<void>;
}

export async function startHostpath(
  options: HostpathPorts & {
    directory: DataDirectory;
    nodes: readonly PlannedNode[];
    version: string;
    isRootless?: boolean;
  },
): Promise<RunningHostpath> {
  const { directory, nodes, version, isRootless = false } = options;
  const home = directory.driver('hostpath');
  const plan: HostpathPlan = {
    home,
    version,
    ...(isRootless && { noImages: NO_IMAGES }),
    controllerSocket: join(home, 'csi.sock'),
    nodes: nodes.map(({ name, segments }) => ({
      nodeId: name,
      topology: segments,
      socket: join(directory.nodeRoot(name), 'plugins', HOSTPATH, 'csi.sock'),
    })),
  };
  const ports = { ...options, log: options.log.with({ part: 'hostpath' }) };
  // In this thread, where it is observed, it cannot be killed alone.
  const running = options.interceptors
    ? { stop: await serveHere(plan, ports) }
    : await startHostpathThread(plan, ports);
  return {
    name: HOSTPATH,
    controllerSocket: plan.controllerSocket,
    nodeSockets: new Map(plan.nodes.map(({ nodeId, socket }) => [nodeId, socket])),
    ...running,
  };
}

async function serveHere(plan: HostpathPlan, ports: HostpathPorts): Promise<() => Promise<void>> {
  // Only here: a thread of its own loads the driver itself.
  const { serveHostpath } = await import('../driver/hostpath/serving/serve-hostpath.ts');
  return serveHostpath(plan, ports);
}
