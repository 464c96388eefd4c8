// Connections to a driver of a temporary cluster, for commands that ask it themselves.

import type { Transports } from '../check/driver-under-test.ts';
import type { ClusterDriver } from '../cluster/cluster-driver.ts';
import { connectCsi } from '../csi/client/connect-csi.ts';
import { silentLog } from '../runtime/log/log.ts';
import { realClock } from '../runtime/time/clock.ts';

/** Closed when `work` has ended. */
export async function withConnections(
  driver: ClusterDriver,
  work: (transports: Transports) => Promise<void>,
): Promise<void> {
  const [nodeSocket = driver.controllerSocket] = driver.nodeSockets.values();
  const connect = (address: string) => connectCsi({ address, clock: realClock, log: silentLog });
  const transports = { controller: connect(driver.controllerSocket), node: connect(nodeSocket) };
  try {
    await work(transports);
  } finally {
    transports.controller.close();
    transports.node.close();
  }
}
