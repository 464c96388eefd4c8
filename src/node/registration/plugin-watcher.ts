// Watches the registration sockets in `plugins_registry` (existing, created, removed, recreated) and the connections to
// their drivers. One loop key per socket, so that a socket that hangs does not block others. Owns the registry and,
// through the writer, this node's drivers in the API.

import { join } from 'node:path';
import { sameJson } from '../../api/same-json.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { VolumeFiles } from '../../csi-plugin/mount/volume-files.ts';
import type { Timer } from '../../runtime/ports.ts';
import { createLoop, type LoopPorts } from '../../runtime/queue/create-loop.ts';
import { done, type Loop, type Outcome } from '../../runtime/queue/loop.ts';
import type { DriverRegistry, RegisteredDriver } from './driver-registry.ts';
import {
  type Announcement,
  askDriver,
  askRegistrar,
  type HandshakePorts,
  notify,
  OtherPluginError,
} from './handshake.ts';
import type { NodeInfoWriter } from './node-info-writer.ts';

/** The kubelet's backoff for operations on plugins and volumes. */
const BACKOFF = { startMs: 500, maxMs: 122_000, jitter: 0.1 };
/** A watch may miss changes while its directory is replaced. */
const RESCAN_MS = 60_000;
/** A socket file appears a moment before its process listens. */
const DEBOUNCE_MS = 10;

export interface PluginWatcherPorts extends LoopPorts, HandshakePorts {
  directory: string;
  files: VolumeFiles;
  registry: DriverRegistry;
  writer: NodeInfoWriter;
  /** Called after each attempt. */
  registrationFailed(driver: DriverName, error: unknown): void;
}

interface Session {
  /** The identity of the socket; undefined when it must be queried again. */
  identity: string | undefined;
  /** Its driver; undefined before registration, or for another kind of plugin. */
  driver: DriverName | undefined;
}

export interface PluginWatcher {
  run(signal: AbortSignal): Promise<void>;
}

export function createPluginWatcher(ports: PluginWatcherPorts): PluginWatcher {
  const { directory, files, registry, writer, clock, log } = ports;
  const sessions = new Map<string, Session>();
  /** Sockets whose driver is unreachable, until it is back. */
  const lost = new Set<string>();

  const loop: Loop = createLoop({
    ...ports,
    log,
    name: 'plugin-registration',
    reconcile: (socket, { signal }) => reconcile(socket, signal),
    workers: 64,
    backoff: BACKOFF,
  });

  async function reconcile(name: string, signal: AbortSignal): Promise<Outcome> {
    const socket = join(directory, name);
    const identity = await files.socketIdentity(socket);
    const session = sessions.get(name);
    if (identity === undefined) {
      if (session) await unregister(name, session, signal);
      return done;
    }
    if (session?.identity === identity) return done;
    await register(name, socket, identity, signal);
    return done;
  }

  async function register(
    name: string,
    socket: string,
    identity: string,
    signal: AbortSignal,
  ): Promise<void> {
    const registrar = ports.connect(socket);
    const previous = sessions.get(name)?.driver;
    let announced: DriverName | undefined;
    try {
      const announcement = await askRegistrar(registrar, socket, signal);
      announced = announcement.name;
      const { driver, registered } = await open(name, announcement, signal);
      registry.add(driver);
      sessions.set(name, { identity, driver: driver.name });
      log.info('registered a CSI driver', {
        driver: driver.name,
        nodeId: driver.facts.nodeId,
        endpoint: driver.endpoint,
      });
      tellBack(name, driver);
      registered(driver);
      if (previous !== undefined && previous !== driver.name) await forget(previous, socket, signal);
      // The registrar is notified last; if it does not listen any more, it registers again.
      await notify(registrar, undefined, signal).catch((error: unknown) => {
        log.warn('could not notify a registrar that its driver is registered', { socket, err: error });
      });
    } catch (error) {
      if (signal.aborted) throw error;
      if (error instanceof OtherPluginError) {
        sessions.set(name, { identity, driver: undefined });
        await undo({ driver: previous, socket }, signal);
        log.info('a registration socket is not for CSI and is ignored', { socket, why: error.message });
        return;
      }
      sessions.delete(name);
      if (announced !== undefined) ports.registrationFailed(announced, error);
      await undo({ driver: announced, socket }, signal);
      if (previous !== announced) await undo({ driver: previous, socket }, signal);
      await notify(registrar, error, signal).catch(() => {
        // It may be gone or hang; the loop retries the whole registration.
      });
      throw error;
    } finally {
      registrar.close();
    }
  }

  /** Connected, and known to the cluster. */
  async function open(
    name: string,
    announcement: Announcement,
    signal: AbortSignal,
  ): Promise<{ driver: RegisteredDriver; registered: (driver: RegisteredDriver) => void }> {
    const transport = ports.connect(announcement.endpoint);
    const close = () => transport.close();
    // Before the driver is asked: it may restart with other answers while these are being written.
    const registered = followConnection(name, transport, signal);
    try {
      const answers = await askDriver(ports, announcement, transport, signal);
      const socket = join(directory, name);
      await writer.install(answers.facts, socket, signal);
      signal.throwIfAborted();
      return { driver: { ...announcement, ...answers, transport, socket, close }, registered };
    } catch (error) {
      close();
      throw error;
    }
  }

  /**
   * A driver may come back with another node ID, topology or limit: then it is registered again. Returns what to call once
   * the driver is registered; a loss before that is handled then.
   */
  function followConnection(
    name: string,
    transport: RegisteredDriver['transport'],
    signal: AbortSignal,
  ): (driver: RegisteredDriver) => void {
    let driver: RegisteredDriver | undefined;
    let wasReady = transport.state === 'ready';
    let isLost = false;
    const handleLoss = () => {
      const registered = driver;
      isLost = registered === undefined;
      if (registered === undefined) return;
      lost.add(name);
      log.warn('lost the connection to a CSI driver; waiting for it to come back', {
        driver: registered.name,
      });
      transport.waitForReady(signal).then(
        () => lookAgain(name, registered, signal),
        () => {},
      );
    };
    const stop = transport.onStateChange((state) => {
      if (state === 'closed') return stop();
      const isLoss = wasReady && state !== 'ready';
      wasReady = state === 'ready';
      if (isLoss) handleLoss();
    });
    return (registered) => {
      driver = registered;
      if (isLost) handleLoss();
    };
  }

  async function lookAgain(name: string, driver: RegisteredDriver, signal: AbortSignal): Promise<void> {
    const answers = await askDriver(ports, driver, driver.transport, signal).catch(() => undefined);
    const session = sessions.get(name);
    if (signal.aborted || registry.get(driver.name) !== driver || !session) return;
    if (answers && sameAnswers(driver, answers)) {
      tellBack(name, driver);
      // The driver may have told another limit since its registration.
      await writer.setMaxVolumes(driver.name, answers.facts.maxVolumes, signal).catch((error: unknown) => {
        if (signal.aborted) return;
        log.warn('could not write the volume limit of a CSI driver; will retry', {
          driver: driver.name,
          err: error,
        });
      });
      return;
    }
    session.identity = undefined;
    loop.add(name);
  }

  /** Logged at the level of the loss, so that both lines are seen. */
  function tellBack(name: string, { name: driver }: RegisteredDriver): void {
    if (lost.delete(name)) log.warn('the CSI driver is back', { driver });
  }

  /**
   * True if this socket's driver was the registered one. Another socket may have announced the driver before: it registers
   * the driver again.
   */
  function removeFromRegistry(driver: DriverName, socket: string): boolean {
    if (!registry.remove(driver, socket)) return false;
    for (const [name, session] of sessions) {
      if (session.driver !== driver || join(directory, name) === socket) continue;
      session.identity = undefined;
      loop.add(name);
    }
    return true;
  }

  /** Invalidates an earlier registration, unless another socket has registered the driver since. */
  async function undo(
    { driver, socket }: { driver: DriverName | undefined; socket: string },
    signal: AbortSignal,
  ): Promise<void> {
    if (driver === undefined) return;
    const registered = registry.get(driver);
    if (registered !== undefined && registered.socket !== socket) return;
    removeFromRegistry(driver, socket);
    await writer.uninstall({ driver, socket }, signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
      log.error('could not remove the entries of a driver; the next attempt retries', error, {
        driver,
      });
    });
  }

  async function forget(driver: DriverName, socket: string, signal: AbortSignal): Promise<void> {
    if (!removeFromRegistry(driver, socket)) return;
    log.info('unregistered a CSI driver: its registration socket is gone', { driver });
    await writer.uninstall({ driver, socket }, signal);
  }

  async function unregister(name: string, session: Session, signal: AbortSignal): Promise<void> {
    const { driver } = session;
    const socket = join(directory, name);
    if (driver !== undefined) {
      const registered = registry.get(driver);
      // A failed write throws and keeps the session, so that it is retried.
      if (registered === undefined || registered.socket === socket) {
        // Another socket may be installing the driver meanwhile: then its entries stay.
        await writer.uninstall({ driver, socket }, signal);
        if (removeFromRegistry(driver, socket))
          log.info('unregistered a CSI driver: its registration socket is gone', { driver });
      }
    }
    sessions.delete(name);
  }

  async function scan(): Promise<void> {
    const found = (await files.list(directory)).filter((name) => !name.startsWith('.'));
    for (const name of new Set([...found, ...sessions.keys()])) loop.add(name);
  }

  return {
    async run(signal) {
      let debounce: Timer | undefined;
      let rescan: Timer | undefined;
      let stopWatching: (() => void) | undefined;

      const changed = () => {
        if (signal.aborted) return;
        debounce?.cancel();
        debounce = clock.setTimeout(() => void scan().catch(report), DEBOUNCE_MS);
      };
      const report = (error: unknown) => {
        if (signal.aborted) return;
        log.error('could not read the registration sockets; will retry', error, { directory });
      };
      /** Watches the current directory: it may have been removed and recreated. */
      const watchAnew = async () => {
        rescan = clock.setTimeout(() => void watchAnew().catch(report), RESCAN_MS);
        await files.makeDirectory(directory);
        if (signal.aborted) return;
        stopWatching?.();
        stopWatching = files.watch(directory, changed);
        await scan();
      };

      await watchAnew();
      try {
        await loop.run(signal);
      } finally {
        rescan?.cancel();
        debounce?.cancel();
        stopWatching?.();
        registry.closeAll();
      }
    },
  };
}

type Answers = Pick<RegisteredDriver, 'facts' | 'capabilities'>;

function sameAnswers(a: Answers, b: Answers): boolean {
  return sameJson(a.facts, b.facts) && sameJson([...a.capabilities].sort(), [...b.capabilities].sort());
}
