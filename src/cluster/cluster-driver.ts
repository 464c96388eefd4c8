// A driver as the cluster sees it, built in or brought: its name, the socket of its controller service, and the socket of
// its node service on each node that has one.

import type { DriverName } from '../csi/names/driver-name.ts';

export interface ClusterDriver {
  readonly name: DriverName;
  readonly controllerSocket: string;
  /** By node name. */
  readonly nodeSockets: ReadonlyMap<string, string>;
  /** Kills the process that listens at this socket; it is started again. Absent for one that somebody else started. */
  kill?(socket: string): void;
}
