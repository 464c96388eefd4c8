// Starts a cluster in the process of a test: real time, real sockets, real mounts, so it needs root, or a user namespace
// (`unshare --user --map-root-user --mount`).

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DriverSockets, parseDriverSockets } from '../cluster/brought-driver.ts';
import { startTemporaryCluster } from '../cluster/temporary-cluster.ts';
import type { Driver } from '../driver/driver.ts';
import { serveDriver } from '../driver/serve-driver.ts';
import { silentLog } from '../runtime/log/log.ts';
import { checkUser } from '../runtime/mount/tried-mounter.ts';
import type { Log } from '../runtime/ports.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { TestCluster } from './test-cluster.ts';

export interface ClusterOptions {
  /**
   * The driver: one written with `berth/driver`, or a function that makes one for each node; the sockets of one that runs
   * (`unix:///csi.sock`, or `CONTROLLER,NODE-1,NODE-2`); or commands that run it, one for each node, with the socket in
   * `$CSI_ENDPOINT` and the node's name in `$NODE_ID`. Without it, hostpath.
   */
  driver?:
    | Driver
    | ((nodeName: string) => Driver | Promise<Driver>)
    | string
    | { exec: string | readonly string[] };
  /** Default 1. A function makes the driver for each node; a single driver or socket is on the first node only. */
  nodes?: number;
  /** Parameters of the StorageClass. */
  classParameters?: Readonly<Record<string, string>>;
  /** How long each wait may take; default 30 s. */
  timeoutMs?: number;
  /** Of all parts; default none. */
  log?: Log;
}

const TIMEOUT_MS = 30_000;

/** Resolves once the driver is registered and claims would be bound. `stop`, or `await using`, deletes everything. */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  checkUser();
  const { driver, log = silentLog, nodes = 1, classParameters = {} } = options;
  const stopping = new AbortController();
  const served = await serve(driver, nodes, log);
  try {
    const running = await startTemporaryCluster({
      clock: realClock,
      random: realRandom,
      log,
      partsLog: log,
      signal: stopping.signal,
      version: 'test',
      nodeCount: nodes,
      classParameters,
      sockets: typeof driver === 'string' ? [parseDriverSockets(driver)] : served.sockets,
      commands: typeof driver === 'object' && 'exec' in driver ? [driver.exec].flat() : [],
    });
    const { cluster } = running;
    return new TestCluster({
      server: cluster.server,
      book: cluster.book,
      driverName: cluster.drivers[0]?.name ?? '',
      nodeNames: running.nodes.map(({ name }) => name),
      clock: realClock,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      settle: (promise) => promise,
      stop: () => running.stop().finally(() => served.stop()),
    });
  } catch (error) {
    await served.stop();
    throw error;
  }
}

/** Serves a driver of this process on sockets; nothing for the other kinds. */
async function serve(
  driver: ClusterOptions['driver'],
  nodes: number,
  log: Log,
): Promise<{ sockets: DriverSockets[]; stop(): Promise<void> }> {
  const make = typeof driver === 'function' ? driver : undefined;
  const single = typeof driver === 'object' && !('exec' in driver) ? driver : undefined;
  if (make === undefined && single === undefined) return { sockets: [], stop: async () => {} };
  const home = await mkdtemp(join(tmpdir(), 'berth-csi-'));
  const drivers = single ? [single] : [];
  for (let index = 1; make && index <= nodes; index++) drivers.push(await make(`node-${index}`));
  const servers = await Promise.all(
    drivers.map((each, index) =>
      serveDriver(each, { endpoint: join(home, `${index + 1}.sock`), clock: realClock, log }),
    ),
  );
  const addresses = servers.map(({ address }) => address);
  return {
    sockets: [{ controller: addresses[0] ?? '', nodes: addresses }],
    async stop() {
      await Promise.all(servers.map((server) => server.stop(0)));
      await rm(home, { recursive: true, force: true });
    },
  };
}
