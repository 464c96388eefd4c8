// The registration handshake with a registrar's socket and its driver. Names, versions and answers are validated, and
// every call has a deadline.

import type { CsiConnection } from '../../csi/client/connect-csi.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import { getDriverName } from '../../csi/client/probe.ts';
import { codeOf } from '../../csi/csi-error.ts';
import { Node, type NodeGetInfoResponse } from '../../csi/generated/csi/v1/csi_pb.ts';
import { CSIRegistration } from '../../csi/generated/csiregistration/csi_registration_pb.ts';
import { type PluginInfo, Registration } from '../../csi/generated/pluginregistration/registration_pb.ts';
import { nodeCapabilities } from '../../csi/messages/capabilities.ts';
import { type DriverName, parseDriverName, parseNodeId } from '../../csi/names/driver-name.ts';
import { socketPath } from '../../csi/names/socket-path.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { DriverFacts } from './driver-facts.ts';
import type { RegisteredDriver } from './driver-registry.ts';

/** The kubelet's time-out. */
const REGISTRAR_TIMEOUT_MS = 10_000;
const DRIVER_TIMEOUT_MS = 30_000;
/** A driver may start a moment after its registrar. */
const NODE_INFO_RETRIES_MS = [200, 400, 800, 1600];

/** The socket belongs to another kind of plugin (a device plugin, DRA). */
export class OtherPluginError extends Error {
  override readonly name = 'OtherPluginError';
}

/** The registrar's answer is not acceptable. */
class RefusedPluginError extends Error {
  override readonly name = 'RefusedPluginError';
}

export interface HandshakePorts {
  connect(address: string): CsiConnection;
  clock: Clock;
}

export interface Announcement {
  name: DriverName;
  endpoint: string;
  wantsPodInfo: boolean;
}

/** The registrar's information about its driver. */
export async function askRegistrar(
  registrar: CsiConnection,
  socket: string,
  signal: AbortSignal,
): Promise<Announcement> {
  const call = { timeoutMs: REGISTRAR_TIMEOUT_MS, signal };
  const info = await csiClient(Registration, registrar, call).getInfo({}, call);
  if (info.type !== 'CSIPlugin') {
    throw new OtherPluginError(
      `${socket} announces a plugin of type ${JSON.stringify(info.type)}, not CSIPlugin`,
    );
  }
  const name = accept(() => parseDriverName(info.name));
  checkVersions(info);
  const options = await driverOptions(registrar, call);
  const endpoint = accept(() => socketPath(options.endpoint || info.endpoint || socket));
  return { name, endpoint, wantsPodInfo: options.wantsPodInfo };
}

/** A registrar without this service does not request pod information. */
async function driverOptions(
  registrar: CsiConnection,
  call: { timeoutMs: number; signal: AbortSignal },
): Promise<{ endpoint: string; wantsPodInfo: boolean }> {
  try {
    const answer = await csiClient(CSIRegistration, registrar, call).getCSIDriverInfo({}, call);
    return { endpoint: answer.csiEndpoint, wantsPodInfo: answer.options?.requiresPublishPod ?? false };
  } catch (error) {
    if (codeOf(error) === 'UNIMPLEMENTED') return { endpoint: '', wantsPodInfo: false };
    throw error;
  }
}

function checkVersions({ name, supportedVersions }: PluginInfo): void {
  if (supportedVersions.some((version) => /^v?1(\.\d+)*$/.test(version))) return;
  throw new RefusedPluginError(
    `driver ${name} announces the CSI versions ${JSON.stringify(supportedVersions)}; this node supports 1.x`,
  );
}

/** The driver's identity, its answer to NodeGetInfo, and its capabilities. */
export async function askDriver(
  ports: Pick<HandshakePorts, 'clock'>,
  announced: Pick<Announcement, 'name' | 'endpoint'>,
  transport: CsiConnection,
  signal: AbortSignal,
): Promise<Pick<RegisteredDriver, 'facts' | 'capabilities'>> {
  const call = { timeoutMs: DRIVER_TIMEOUT_MS, signal };
  const info = await nodeInfo(ports, transport, signal);
  const ownName = await getDriverName(transport, call);
  if (ownName !== announced.name) {
    throw new RefusedPluginError(
      `the registrar announces driver ${announced.name} at ${announced.endpoint}, but that driver reports the name ${ownName}`,
    );
  }
  const capabilities = await nodeCapabilities(transport, call);
  const facts: DriverFacts = {
    name: announced.name,
    nodeId: accept(() => parseNodeId(info.nodeId)),
    segments: { ...info.accessibleTopology?.segments },
    maxVolumes: maxVolumesOf(info),
  };
  return { facts, capabilities };
}

/** 0: no limit. */
export function maxVolumesOf({ maxVolumesPerNode }: NodeGetInfoResponse): number {
  return Number(maxVolumesPerNode > 0n ? maxVolumesPerNode : 0n);
}

async function nodeInfo(ports: Pick<HandshakePorts, 'clock'>, transport: CsiConnection, signal: AbortSignal) {
  for (const delayMs of [...NODE_INFO_RETRIES_MS, undefined]) {
    try {
      return await csiClient(Node, transport, { timeoutMs: DRIVER_TIMEOUT_MS }).nodeGetInfo({}, { signal });
    } catch (error) {
      const code = codeOf(error);
      if (delayMs === undefined || (code !== 'UNAVAILABLE' && code !== 'ABORTED')) throw error;
      await ports.clock.sleep(delayMs, signal);
    }
  }
  throw new Error('unreachable: the last attempt returns or throws');
}

export async function notify(registrar: CsiConnection, error: unknown, signal: AbortSignal): Promise<void> {
  const call = { timeoutMs: REGISTRAR_TIMEOUT_MS, signal };
  await csiClient(Registration, registrar, call).notifyRegistrationStatus(
    {
      pluginRegistered: error === undefined,
      error: error === undefined ? '' : errorMessage(error),
    },
    call,
  );
}

/** Turns a validation error into a RefusedPluginError. */
function accept<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new RefusedPluginError(errorMessage(error), { cause: error });
  }
}
