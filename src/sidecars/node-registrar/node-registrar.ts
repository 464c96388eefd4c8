// Registers a driver with the kubelet: serves a registration socket in the kubelet's plugin directory for as long as it
// runs. A socket that was deleted is created again, and the kubelet then registers the driver again. Ends with an error
// when the kubelet rejects the driver or another driver replaces it, so that the container is restarted.

import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { type CsiConnection, connectCsi } from '../../csi/client/connect-csi.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import { getDriverName } from '../../csi/client/probe.ts';
import { Registration } from '../../csi/generated/pluginregistration/registration_pb.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import { type CsiServer, serveCsi } from '../../csi/server/serve-csi.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { registrationServices } from './registration-service.ts';

export interface NodeRegistrarOptions {
  /** Address of the driver. */
  connection: Pick<CsiConnection, 'call' | 'onStateChange'>;
  driverName: DriverName;
  /** `--plugin-registration-path`: the directory. */
  registrationDirectory: string;
  /** `--kubelet-registration-path`: the driver's socket as the kubelet sees it. */
  kubeletRegistrationPath: string;
  requiresPublishPod: boolean;
  timeoutMs: number;
  clock: Clock;
  log: Log;
}

export interface NodeRegistrar {
  readonly socketPath: string;
  /** Serves until aborted, then removes its socket. Rejects when it must be restarted. */
  run(signal: AbortSignal): Promise<void>;
  /** Throws unless the socket exists and answers for the driver. */
  check(): Promise<void>;
}

/** The registration cannot continue; a restart may help. */
export class RegistrationError extends Error {
  override readonly name = 'RegistrationError';
}

/** Interval of the checks that the socket still exists and the driver is the same. */
const LOOK_MS = 1000;
/** Grace period for calls of the kubelet that are in flight at shutdown. */
const GRACE_MS = 500;

interface Serving {
  server: CsiServer;
  inode: number;
}

export function createNodeRegistrar(options: NodeRegistrarOptions): NodeRegistrar {
  const { driverName, clock, log, timeoutMs } = options;
  const socketPath = join(options.registrationDirectory, `${driverName}-reg.sock`);

  async function serve(onRefused: (reason: string) => void): Promise<Serving> {
    const server = await serveCsi({
      address: socketPath,
      services: registrationServices({
        driverName,
        endpoint: options.kubeletRegistrationPath,
        requiresPublishPod: options.requiresPublishPod,
        log,
        onRefused,
      }),
      // The kubelet runs as root; no other user needs access.
      socketMode: 0o600,
      clock,
      log,
    });
    log.info(
      'Waiting for the kubelet to register the driver: it looks in plugins_registry of its root directory',
      { socket: socketPath },
    );
    return { server, inode: (await inodeOf(socketPath)) ?? 0 };
  }

  /** Whether the socket is gone. Another process's socket at the path is not touched. */
  async function isGone({ inode }: Serving): Promise<boolean> {
    const found = await inodeOf(socketPath);
    if (found === undefined) return true;
    if (found === inode) return false;
    throw new RegistrationError(
      `another process owns the socket at ${socketPath}; stop it: a driver needs one registrar`,
    );
  }

  /** True when the driver was asked and is the same; false when it does not answer. */
  async function isSameDriver(signal: AbortSignal): Promise<boolean> {
    const now = await getDriverName(options.connection, { timeoutMs, signal }).catch((error: unknown) => {
      log.v(4).info('The driver does not answer', { err: error });
      return undefined;
    });
    if (now === undefined || now === driverName) return now !== undefined;
    throw new RegistrationError(
      `the driver's name is now ${now}, it was registered as ${driverName}; restart to register it`,
    );
  }

  return {
    socketPath,

    async run(signal) {
      const { promise: refused, reject } = Promise.withResolvers<never>();
      refused.catch(() => {});
      const onRefused = (reason: string): void =>
        reject(new RegistrationError(`the kubelet could not register ${driverName}: ${reason}`));
      let lost = false;
      const unsubscribe = options.connection.onStateChange((state) => {
        if (state !== 'ready') lost = true;
      });
      let serving: Serving | undefined = await serve(onRefused);
      try {
        while (!signal.aborted) {
          await Promise.race([refused, clock.sleep(LOOK_MS, signal).catch(() => {})]);
          if (signal.aborted) break;
          if (await isGone(serving)) {
            log.warn('The registration socket was deleted; creating it again', { socket: socketPath });
            const { server } = serving;
            serving = undefined;
            await server.stop(GRACE_MS);
            serving = await serve(onRefused);
          }
          if (!lost) continue;
          // Before the call: the connection may be lost again meanwhile.
          lost = false;
          if (!(await isSameDriver(signal))) lost = true;
        }
      } finally {
        unsubscribe();
        // Stopping removes whatever is at the path, so not when it is another process's socket.
        const found = await inodeOf(socketPath);
        if (found === undefined || found === serving?.inode) await serving?.server.stop(GRACE_MS);
      }
    },

    async check() {
      if ((await inodeOf(socketPath)) === undefined) {
        throw new RegistrationError(`registration socket ${socketPath} does not exist`);
      }
      const connection = connectCsi({ address: socketPath, clock, log });
      try {
        const info = await csiClient(Registration, connection, { timeoutMs }).getInfo({});
        if (info.name !== driverName) {
          throw new RegistrationError(`${socketPath} is the socket of ${info.name}, not of ${driverName}`);
        }
      } finally {
        connection.close();
      }
    },
  };
}

async function inodeOf(path: string): Promise<number | undefined> {
  try {
    return (await lstat(path)).ino;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
