// Which Secret DeleteVolume gets: from the annotations of the PersistentVolume or, for older volumes without them, from
// the class.

import type { PersistentVolume, SecretReference, StorageClass } from '../../../api/kinds.ts';
import { ANN_DELETION_SECRET_NAME, ANN_DELETION_SECRET_NAMESPACE } from '../../../api/well-known.ts';
import { ClaimProblem } from '../planning/claim-problem.ts';
import { secretReference } from '../planning/secret-references.ts';

/** Throws a ClaimProblem when the volume was edited so that its Secret is unknown. */
export function deletionSecretOf(
  volume: PersistentVolume,
  storageClass: StorageClass | undefined,
): SecretReference | undefined {
  const { annotations = {}, name: volumeName } = volume.metadata;
  const name = annotations[ANN_DELETION_SECRET_NAME];
  const namespace = annotations[ANN_DELETION_SECRET_NAMESPACE];
  if (name === undefined && namespace === undefined) {
    const { claimRef } = volume.spec;
    if (!storageClass || !claimRef) return undefined;
    return secretReference('provisioner', storageClass.parameters ?? {}, {
      volumeName,
      claimName: claimRef.name ?? '',
      claimNamespace: claimRef.namespace ?? '',
    });
  }
  if (!name && !namespace) return undefined;
  if (!name || !namespace) {
    const missing = name ? ANN_DELETION_SECRET_NAMESPACE : ANN_DELETION_SECRET_NAME;
    throw new ClaimProblem(
      `only half of the deletion secret is given: annotation ${missing} is missing or empty`,
    );
  }
  return { name, namespace };
}
