// From the name of a VolumeSnapshot to what the driver is asked with: the snapshot's handle, and the secrets of its class.
// Reads objects when asked; throws a CsiError with the code that the caller gets.

import {
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import { snapshotSecret } from '../../api/snapshot-secrets.ts';
import { isDefaultSnapshotClass, isReadyToUse, refersToSnapshot } from '../../api/snapshots.ts';
import { CsiError } from '../../csi/csi-error.ts';
import type { DriverName, SnapshotHandle } from '../../csi/names/driver-name.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { readSecret } from '../common/read-secret.ts';

export interface FoundSnapshot {
  handle: SnapshotHandle;
  secrets: Record<string, string>;
}

type Reader = Pick<KubeClient, 'get' | 'list'>;

/** Every reason to try again later has this code, as in the official sidecar. */
const unavailable = (message: string, cause?: unknown): CsiError =>
  new CsiError({ code: 'UNAVAILABLE', message, ...(cause !== undefined && { cause }) });

const read = <T>(what: string, reading: Promise<T>): Promise<T> =>
  reading.catch((error: unknown) => {
    throw unavailable(`cannot read ${what}: ${errorMessage(error)}`, error);
  });

export async function findSnapshot(
  kube: Reader,
  driver: DriverName,
  { namespace, name, signal }: { namespace: string; name: string; signal: AbortSignal },
): Promise<FoundSnapshot> {
  const label = `VolumeSnapshot ${namespace}/${name}`;
  const snapshot = await read(label, kube.get(volumeSnapshots, { namespace, name }, { signal }));
  if (!isReadyToUse(snapshot)) throw unavailable(`${label} is not ready to use yet; retry when it is`);
  const contentName = snapshot.status?.boundVolumeSnapshotContentName;
  if (!contentName) throw unavailable(`${label} is not bound to a VolumeSnapshotContent yet`);
  const content = await read(
    `VolumeSnapshotContent ${contentName}`,
    kube.get(volumeSnapshotContents, { name: contentName }, { signal }),
  );
  const handle = handleOf(content, snapshot);
  if (content.spec.driver !== driver) {
    throw new CsiError({
      code: 'INVALID_ARGUMENT',
      message: `${label} belongs to driver ${content.spec.driver}, and this service serves ${driver}; use the SnapshotMetadataService of that driver`,
    });
  }
  return { handle, secrets: await secretsOf(kube, { snapshot, contentName, driver, signal }) };
}

function handleOf(content: VolumeSnapshotContent, snapshot: VolumeSnapshot): SnapshotHandle {
  const label = `VolumeSnapshotContent ${content.metadata.name}`;
  if (!refersToSnapshot(content.spec.volumeSnapshotRef, snapshot)) {
    const { namespace, name } = snapshot.metadata;
    throw unavailable(`${label} belongs to another VolumeSnapshot than ${namespace}/${name}`);
  }
  if (!isReadyToUse(content)) throw unavailable(`${label} is not ready to use yet; retry when it is`);
  const handle = content.status?.snapshotHandle;
  if (!handle) throw unavailable(`${label} has no snapshot handle yet`);
  return handle as SnapshotHandle;
}

async function secretsOf(
  kube: Reader,
  of: { snapshot: VolumeSnapshot; contentName: string; driver: DriverName; signal: AbortSignal },
): Promise<Record<string, string>> {
  const { snapshot, contentName, signal } = of;
  const found = await classOf(kube, of);
  const answer = snapshotSecret('snapshotter', found.parameters ?? {}, {
    contentName,
    snapshot: { name: snapshot.metadata.name, namespace: snapshot.metadata.namespace ?? '' },
  });
  if ('problem' in answer) throw unavailable(`VolumeSnapshotClass ${found.metadata.name}: ${answer.problem}`);
  if (answer.secret === undefined) return {};
  const secret = await read('the secret of the snapshot class', readSecret(kube, answer.secret, { signal }));
  return secret.reveal();
}

async function classOf(
  kube: Reader,
  { snapshot, driver, signal }: { snapshot: VolumeSnapshot; driver: DriverName; signal: AbortSignal },
): Promise<VolumeSnapshotClass> {
  const name = snapshot.spec.volumeSnapshotClassName;
  if (name !== undefined) {
    const label = `VolumeSnapshotClass ${name}`;
    return read(label, kube.get(volumeSnapshotClasses, { name }, { signal }));
  }
  const { items } = await read('VolumeSnapshotClasses', kube.list(volumeSnapshotClasses, { signal }));
  const [first, ...more] = items.filter((each) => each.driver === driver && isDefaultSnapshotClass(each));
  if (first === undefined) {
    throw unavailable(`the snapshot names no class, and driver ${driver} has no default VolumeSnapshotClass`);
  }
  if (more.length > 0) throw unavailable(`driver ${driver} has more than one default VolumeSnapshotClass`);
  return first;
}
