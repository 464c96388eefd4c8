// A cluster for one run of something: in a directory of its own, with the drivers that were brought, or hostpath when none
// was. After `stop` nothing of it is left, neither here nor in the drivers.

import type { Mounter } from '../runtime/mount/mounter.ts';
import { openTriedMounter } from '../runtime/mount/tried-mounter.ts';
import type { Log } from '../runtime/ports.ts';
import { type BringOptions, bringDrivers } from './bring-drivers.ts';
import { type DataDirectory, openDataDirectory } from './data-directory.ts';
import { type PlannedNode, planNodes } from './plan-nodes.ts';
import { type Cluster, type ClusterOptions, startCluster } from './start-cluster.ts';

export type TemporaryClusterOptions = Omit<BringOptions, 'nodeNames'> &
  Pick<ClusterOptions, 'version' | 'classParameters' | 'interceptors' | 'isRootless' | 'sidecarFlags'> & {
    /** More are started where the drivers have more sockets. */
    nodeCount: number;
    /** Of the cluster's own parts; `log` gets only what drivers print, and when they end. */
    partsLog: Log;
  };

export interface TemporaryCluster {
  readonly cluster: Cluster;
  readonly directory: DataDirectory;
  readonly mounter: Mounter;
  readonly nodes: readonly PlannedNode[];
  /** Resolves with what the drivers did not delete, in words. Idempotent. */
  stop(): Promise<string[]>;
}

export async function startTemporaryCluster(options: TemporaryClusterOptions): Promise<TemporaryCluster> {
  const { sockets, commands, interceptors, classParameters = {} } = options;
  const wanted = [options.nodeCount, commands.length, ...sockets.map(({ nodes }) => nodes.length)];
  const nodes = planNodes(Math.max(...wanted));
  const directory = await openDataDirectory(undefined);
  try {
    const mounter = await openTriedMounter(directory.path);
    const brought = await bringDrivers({ ...options, nodeNames: nodes.map(({ name }) => name) });
    try {
      const cluster = await startCluster({
        ...options,
        log: options.partsLog,
        mounter,
        directory,
        nodes,
        brought: brought.drivers,
        classParameters,
        inlineHandles: false,
        without: new Set(brought.drivers.length > 0 ? ['hostpath'] : []),
        host: '127.0.0.1',
        port: 0,
        kubeconfig: directory.kubeconfig,
        ...(interceptors && { interceptors }),
      });
      const stop = (): Promise<string[]> => cluster.stop().finally(() => brought.stop());
      return { cluster, directory, mounter, nodes, stop };
    } catch (error) {
      await brought.stop();
      throw error;
    }
  } catch (error) {
    await directory.remove();
    throw error;
  }
}
