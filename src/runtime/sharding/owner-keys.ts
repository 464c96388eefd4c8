// What each kind of object is divided by. A key never changes in the life of an object: otherwise two replicas could each
// hold it to be their own. Objects that one decision reads and writes together have the same key.
//
// | acts on                                       | key                       | why |
// |-----------------------------------------------|---------------------------|-----|
// | claim (provisioner, resizer)                  | its UID                   | the intent is on the claim, so it moves with it; both loops of the resizer work on one claim |
// | PersistentVolume (provisioner: DeleteVolume)  | its UID                   | the claim is gone by then; what is deleted is read from the server first |
// | source of clones (provisioner)                | its UID                   | clones and source are in one watch, in order |
// | VolumeAttachment, its volume's finalizer      | the volume's name, or the inline volume's handle | CSI allows one call at a time per volume, and a volume moves between nodes by two attachments; the finalizer follows all of them |
// | VolumeSnapshotContent (snapshotter)           | its UID                   | what was asked of the driver is recorded on the content |
// | VolumeGroupSnapshotContent (snapshotter)      | its UID                   | its members are cut and deleted with it, by this object alone |
// | all that the snapshot controller acts on      | the namespace             | the finalizer of a claim depends on all snapshots and group snapshots of the namespace, a member on its group; no driver is called, so that a namespace is small enough |
// | capacity, sweep for leftover finalizers       | `whole/` and a name       | not about one object: one replica does it |

import type { VolumeAttachment } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import { inlineSourceOf } from '../../api/volumes.ts';

export const uidKey = (object: KubeObject | undefined): string | undefined => object?.metadata.uid;

export function attachmentKey(attachment: VolumeAttachment | undefined): string | undefined {
  if (attachment === undefined) return undefined;
  const { persistentVolumeName } = attachment.spec.source;
  if (persistentVolumeName) return volumeKey(persistentVolumeName);
  return `inline/${inlineSourceOf(attachment)?.csi?.volumeHandle ?? attachment.metadata.uid}`;
}

export const volumeKey = (volumeName: string): string => `volume/${volumeName}`;

export const namespaceKey = (namespace: string | undefined): string => `namespace/${namespace ?? ''}`;

/** Of the key `namespace/name` of a loop. */
export const namespaceOfKey = (key: string): string => namespaceKey(key.slice(0, key.indexOf('/')));
