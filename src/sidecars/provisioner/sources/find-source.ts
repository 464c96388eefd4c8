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
import { addFinalizer, renewFinalizer } from '../../../runtime/kube/finalizers.ts';
import { ifThere } from '../../../runtime/kube/if-there.ts';
import { isForbidden } from '../../../runtime/kube/kube-error.ts';
import { ClaimProblem, permanentProblem } from '../planning/claim-problem.ts';
import type { ContentSource } from '../planning/plan-volume.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import { cloneSourceIdFor, snapshotIdFor } from './check-source.ts';
import type { DataSource } from './data-source.ts';

export type SourceContext = Pick<ProvisionerContext, 'kube' | 'log' | 'driver' | 'flags'>;

export interface FoundSource {
  content: ContentSource;
  /** Call before CreateVolume. */
  protect(): Promise<void>;
}

export function findSource(
  context: SourceContext,
  claim: PersistentVolumeClaim,
  { kind, name, namespace }: Exclude<DataSource, { kind: 'populator' }>,
  signal: AbortSignal,
): Promise<FoundSource> {
  const { kube, log, driver, flags } = context;
  return kind === 'snapshot' ? findSnapshot() : findClaim();

  async function findSnapshot(): Promise<FoundSource> {
    requireCapability('CREATE_DELETE_SNAPSHOT', 'create volumes from snapshots');
    const snapshot = await read(volumeSnapshots, { name, namespace });
    const contentName = snapshot.status?.boundVolumeSnapshotContentName;
    if (!contentName) throw new ClaimProblem(`snapshot ${name} is not bound`);
    const content = await read(volumeSnapshotContents, { name: contentName });
    const id = snapshotIdFor(claim, { snapshot, content }, { driver: driver.name, ...flags });
    return {
      content: { kind: 'snapshot', id },
      async protect() {
        const finalizer = FINALIZER_SNAPSHOT_SOURCE_PROTECTION;
        try {
          // Renewed: whoever removes it decided before this claim was there.
          await renewFinalizer({ kube, resource: volumeSnapshots, object: snapshot, finalizer, signal });
        } catch (error) {
          if (!isForbidden(error)) throw error;
          // Roles from before this protection existed: restoring works without it.
          log
            .v(3)
            .info('No permission to protect a snapshot during a restore', { snapshot: name, err: error });
        }
      },
    };
  }

  async function findClaim(): Promise<FoundSource> {
    requireCapability('CLONE_VOLUME', 'clone volumes');
    const source = await read(persistentVolumeClaims, { name, namespace });
    const { volumeName } = source.spec;
    const volume = volumeName ? await read(persistentVolumes, { name: volumeName }) : undefined;
    return {
      content: { kind: 'volume', id: cloneSourceIdFor(claim, { source, volume }, driver.name) },
      async protect() {
        const finalizer = FINALIZER_CLONE_PROTECTION;
        await addFinalizer({ kube, resource: persistentVolumeClaims, object: source, finalizer, signal });
      },
    };
  }

  function requireCapability(capability: ControllerCapability, what: string): void {
    if (driver.controller.has(capability)) return;
    throw permanentProblem(`driver ${driver.name} cannot ${what}: it does not report ${capability}`);
  }

  async function read<T extends KubeObject>(resource: Resource<T>, object: ObjectName): Promise<T> {
    const found = await ifThere(kube.get(resource, object, { signal }));
    if (!found) throw new ClaimProblem(`the data source ${resource.kind} ${object.name} does not exist`);
    return found;
  }
}
