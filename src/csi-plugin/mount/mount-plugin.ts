// The ports of the plugin's mount operations, and its view of a driver.

import { csiClient } from '../../csi/client/csi-client.ts';
import type { CsiTransport } from '../../csi/client/transport.ts';
import { Node } from '../../csi/generated/csi/v1/csi_pb.ts';
import type { NodeCapability } from '../../csi/messages/capabilities.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import { type CsiSecrets, readSecret } from '../../csi/secrets/credentials.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import type { Mounter } from '../../runtime/mount/mounter.ts';
import type { SecretKey } from './mountable-volume.ts';
import type { ServiceAccountTokens } from './service-account-tokens.ts';
import type { VolumeFiles } from './volume-files.ts';
import type { VolumePaths } from './volume-paths.ts';

/** The kubelet's time-out of CSI calls. */
const CSI_TIMEOUT_MS = 2 * 60_000;

/** A driver that is registered on this node. */
export interface NodeDriver {
  readonly name: DriverName;
  readonly transport: CsiTransport;
  readonly capabilities: ReadonlySet<NodeCapability>;
  /** Its registrar requested pod information. */
  readonly wantsPodInfo: boolean;
}

export interface MountPorts {
  readonly nodeName: string;
  readonly paths: VolumePaths;
  readonly files: VolumeFiles;
  readonly mounter: Mounter;
  readonly kube: Pick<KubeClient, 'get'>;
  readonly tokens: ServiceAccountTokens;
}

/** The driver reported success, but nothing usable is mounted. */
export class MountMissingError extends Error {
  override readonly name = 'MountMissingError';
}

export function nodeClient(driver: NodeDriver) {
  return csiClient(Node, driver.transport, { timeoutMs: CSI_TIMEOUT_MS });
}

/** The entries for one call; empty without a reference. */
export async function secretsFor(
  ports: Pick<MountPorts, 'kube'>,
  key: SecretKey | undefined,
  signal: AbortSignal,
): Promise<CsiSecrets | undefined> {
  return key && (await readSecret(ports.kube, key, { signal }));
}
