// The end of a cluster: parts stop, mounts below the data directory go, and of an ephemeral cluster nothing stays.

import type { ApiServer } from '../apiserver/index.ts';
import type { ClusterDriver } from './cluster-driver.ts';
import { drain } from './drain.ts';
import type { NodesInMemory } from './nodes-in-memory.ts';
import type { ClusterOptions } from './start-cluster.ts';
import { unmountBelow } from './unmount-below.ts';

export const namesOf = (drivers: readonly ClusterDriver[]): Set<string> =>
  new Set(drivers.map(({ name }) => name));

/** Resolves with what could not be removed, in words. */
export async function stopCluster(running: {
  server: ApiServer;
  unwind(): Promise<void>;
  options: ClusterOptions;
  nodesInMemory: NodesInMemory | undefined;
}): Promise<string[]> {
  const { server, unwind, options, nodesInMemory } = running;
  const { directory, brought, mounter, clock } = options;
  const left: string[] = [];
  // What hostpath made goes with the directory. What other drivers made would be lost with the record of it.
  if (directory.isEphemeral && brought.length > 0) left.push(...(await drain(server, { clock })));
  await unwind();
  const keep = directory.isEphemeral ? new Set<string>() : namesOf(brought);
  const busy = await unmountBelow(directory.path, { mounter, keep, except: directory.nodes });
  await nodesInMemory?.release({ keepRecords: keep.size > 0 });
  left.push(...busy.map(({ path, why }) => `${path} is still mounted: ${why}`));
  if (directory.isEphemeral && busy.length === 0) await directory.remove();
  return left;
}
