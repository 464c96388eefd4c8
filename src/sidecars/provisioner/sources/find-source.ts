// Reads the data source of a claim, checks it, and protects it from deletion while the volume is created.

import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../../api/kinds.ts';
import type { KubeObject, ObjectName, Resource } from '../../../api/object.ts';
import { FINALIZER_CLONE_PROTECTION, FINALIZER_SNAPSHOT_SOURCE_PROTECTION } from '../../../api/well-known.ts';
import type { ControllerCapability } from '../../../csi/messages/capabilities.ts';
import type { DriverName } from '../../../csi/names/driver-name.ts';
import { addFinalizer } from '../../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { isForbidden, isNotFound } from '../../../runtime/kube/kube-error.ts';
import type { Log } from '../../../runtime/ports.ts';
import { ClaimProblem } from '../planning/claim-problem.ts';
import type { ContentSource } from '../planning/plan-volume.ts';
import { cloneSourceIdFor, snapshotIdFor } from './check-source.ts';
import type { DataSource } from './data-source.ts';

export interface SourcePorts {
  kube: KubeClient;
  log: Log;
  driver: DriverName;
  capabilities: ReadonlySet<ControllerCapability>;
  preventVolumeModeConversion: boolean;
}

export interface FoundSource {
  content: ContentSource;
  /** Call before CreateVolume. */
  protect(signal: AbortSignal): Promise<void>;
}

export async function findSource(
  ports: SourcePorts,
  claim: PersistentVolumeClaim,
  source: Exclude<DataSource, { kind: 'populator' }>,
  signal: AbortSignal,
): Promise<FoundSource> {
  return source.kind === 'snapshot'
    ? findSnapshot(ports, claim, source, signal)
    : findClaim(ports, claim, source, signal);
}

async function findSnapshot(
  ports: SourcePorts,
  claim: PersistentVolumeClaim,
  { name, namespace }: { name: string; namespace: string },
  signal: AbortSignal,
): Promise<FoundSource> {
  const { kube, driver, log } = ports;
  requireCapability(ports, 'CREATE_DELETE_SNAPSHOT', 'create volumes from snapshots');
  const snapshot = await read(kube, volumeSnapshots, { name, namespace }, signal);
  const contentName = snapshot.status?.boundVolumeSnapshotContentName;
  if (!contentName) throw new ClaimProblem(`snapshot ${name} is not bound`);
  const content = await read(kube, volumeSnapshotContents, { name: contentName }, signal);
  const { preventVolumeModeConversion } = ports;
  const id = snapshotIdFor(claim, { snapshot, content }, { driver, preventVolumeModeConversion });
  return {
    content: { kind: 'snapshot', id },
    async protect() {
      try {
        await addFinalizer({
          kube,
          resource: volumeSnapshots,
          object: snapshot,
          finalizer: FINALIZER_SNAPSHOT_SOURCE_PROTECTION,
          signal,
        });
      } catch (error) {
        if (!isForbidden(error)) throw error;
        // Roles from before this protection existed: restoring works without it.
        log.v(3).info('No permission to protect a snapshot during a restore', { snapshot: name, err: error });
      }
    },
  };
}

async function findClaim(
  ports: SourcePorts,
  claim: PersistentVolumeClaim,
  { name, namespace }: { name: string; namespace: string },
  signal: AbortSignal,
): Promise<FoundSource> {
  const { kube, driver } = ports;
  requireCapability(ports, 'CLONE_VOLUME', 'clone volumes');
  const source = await read(kube, persistentVolumeClaims, { name, namespace }, signal);
  const { volumeName } = source.spec;
  const volume = volumeName ? await read(kube, persistentVolumes, { name: volumeName }, signal) : undefined;
  const id = cloneSourceIdFor(claim, { source, volume }, { driver });
  return {
    content: { kind: 'volume', id },
    async protect() {
      await addFinalizer({
        kube,
        resource: persistentVolumeClaims,
        object: source,
        finalizer: FINALIZER_CLONE_PROTECTION,
        signal,
      });
    },
  };
}

function requireCapability(ports: SourcePorts, capability: ControllerCapability, what: string): void {
  if (ports.capabilities.has(capability)) return;
  throw new ClaimProblem(`driver ${ports.driver} cannot ${what}: it does not report ${capability}`, {
    slow: true,
  });
}

async function read<T extends KubeObject>(
  kube: KubeClient,
  resource: Resource<T>,
  name: ObjectName,
  signal: AbortSignal,
): Promise<T> {
  try {
    return await kube.get(resource, name, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new ClaimProblem(`the data source ${resource.kind} ${name.name} does not exist`, {
      cause: error,
    });
  }
}
