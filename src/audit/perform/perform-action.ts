// Carries out one action. Only the very object that was judged is changed, never a later one of the same name.

import * as kinds from '../../api/kinds.ts';
import { type KubeObject, nameFromKey, type Resource } from '../../api/object.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import { Controller, GroupController } from '../../csi/generated/csi/v1/csi_pb.ts';
import { readSecret } from '../../csi/secrets/credentials.ts';
import { removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { AuditPorts } from '../audit.ts';
import type { Action, ObjectTarget } from '../finding.ts';

const TARGETS = new Map<string, Resource<KubeObject>>(
  (
    [
      kinds.persistentVolumes,
      kinds.persistentVolumeClaims,
      kinds.volumeAttachments,
      kinds.volumeSnapshotContents,
      kinds.volumeSnapshots,
    ] as readonly Resource[]
  ).map((resource) => [resource.plural, resource as Resource<KubeObject>]),
);

export async function performAction(
  { kube, csi }: AuditPorts,
  action: Action,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<void> {
  const call = { timeoutMs, signal };
  const controller = csiClient(Controller, csi, call);
  switch (action.do) {
    case 'DeleteVolume':
      await controller.deleteVolume({ volumeId: action.volumeId }, call);
      return;
    case 'DeleteSnapshot':
      await controller.deleteSnapshot({ snapshotId: action.snapshotId }, call);
      return;
    case 'DeleteVolumeGroupSnapshot': {
      const { groupSnapshotId, snapshotIds } = action;
      const groups = csiClient(GroupController, csi, call);
      await groups.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds: [...snapshotIds] }, call);
      return;
    }
    case 'ControllerUnpublishVolume': {
      const { volumeId, nodeId, secret } = action;
      const secrets = secret ? (await readSecret(kube, secret, { signal })).reveal() : {};
      await controller.controllerUnpublishVolume({ volumeId, nodeId, secrets }, call);
      return;
    }
    case 'delete-object': {
      const { resource, name } = addressOf(action.object);
      await kube.delete(resource, name, { preconditions: { uid: action.object.uid }, signal });
      return;
    }
    case 'remove-finalizers': {
      const { resource, name } = addressOf(action.object);
      const object = await kube.get(resource, name, { signal });
      if (object.metadata.uid !== action.object.uid || object.metadata.deletionTimestamp === undefined)
        throw new Error(`${action.object.plural}/${action.object.key} is not the object that was judged`);
      await removeFinalizer({ kube, resource, object, finalizer: action.finalizers, signal });
    }
  }
}

function addressOf({ plural, key }: ObjectTarget) {
  const resource = TARGETS.get(plural);
  if (resource === undefined) throw new Error(`nothing is done to ${plural}`);
  return { resource, name: nameFromKey(key) };
}
