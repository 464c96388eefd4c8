// Carries out one action. Objects are changed only in the very version that was judged.

import * as kinds from '../../api/kinds.ts';
import { type KubeObject, nameFromKey, type Resource } from '../../api/object.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import { Controller, GroupController } from '../../csi/generated/csi/v1/csi_pb.ts';
import { readSecret } from '../../csi/secrets/credentials.ts';
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
      const { uid, version: resourceVersion } = action.object;
      const { resource, name } = addressOf(action.object);
      await kube.delete(resource, name, { preconditions: { uid, resourceVersion }, signal });
      return;
    }
    case 'remove-finalizers': {
      const { uid, version } = action.object;
      const { resource, name } = addressOf(action.object);
      const { metadata } = await kube.get(resource, name, { signal });
      const { finalizers = [] } = metadata;
      const left = finalizers.filter((each) => !action.finalizers.includes(each));
      await kube.patch(
        resource,
        name,
        [
          { op: 'test', path: '/metadata/uid', value: uid },
          { op: 'test', path: '/metadata/resourceVersion', value: version },
          { op: 'test', path: '/metadata/finalizers', value: finalizers },
          { op: 'replace', path: '/metadata/finalizers', value: left },
        ],
        { type: 'json', signal },
      );
    }
  }
}

function addressOf({ plural, key }: ObjectTarget) {
  const resource = TARGETS.get(plural);
  if (resource === undefined) throw new Error(`nothing is done to ${plural}`);
  return { resource, name: nameFromKey(key) };
}
