// Builds the PersistentVolume of a created volume from the plan, the claim and the driver's response. Pure.

import type {
  CSIPersistentVolumeSource,
  PersistentVolume,
  PersistentVolumeClaim,
  SecretReference,
} from '../../../api/kinds.ts';
import type { Draft } from '../../../api/object.ts';
import { formatQuantity, quantityFromBytes } from '../../../api/quantity.ts';
import { nodeSelectorTermsOf } from '../../../api/topology.ts';
import { storageClassOf } from '../../../api/volumes.ts';
import {
  ANN_DELETION_SECRET_NAME,
  ANN_DELETION_SECRET_NAMESPACE,
  ANN_MODIFY_SECRET_NAME,
  ANN_MODIFY_SECRET_NAMESPACE,
  ANN_PROVISIONED_BY,
  FINALIZER_PROVISIONER,
} from '../../../api/well-known.ts';
import type { Volume } from '../../../csi/generated/csi/v1/csi_pb.ts';
import type { DriverName, VolumeHandle } from '../../../csi/names/driver-name.ts';
import type { VolumePlan } from './plan-volume.ts';
import type { SecretKind } from './secret-references.ts';

export interface VolumeFacts {
  driver: DriverName;
  claim: PersistentVolumeClaim;
  plan: VolumePlan;
  volume: Volume;
  handle: VolumeHandle;
  capacityBytes: bigint;
  /** The driver has VOLUME_ACCESSIBILITY_CONSTRAINTS. */
  withTopology: boolean;
}

export function persistentVolume(facts: VolumeFacts): Draft<PersistentVolume> {
  const { driver, claim, plan, volume } = facts;
  const { provisioner, 'controller-modify': modify } = plan.secretRefs;
  const terms = facts.withTopology
    ? nodeSelectorTermsOf(volume.accessibleTopology.map((topology) => topology.segments))
    : [];
  const attributesClass = claim.spec.volumeAttributesClassName;
  return {
    metadata: {
      name: plan.volumeName,
      annotations: {
        [ANN_PROVISIONED_BY]: driver,
        // Empty annotations mean that no secret is needed; without them the class would be consulted.
        [ANN_DELETION_SECRET_NAME]: provisioner?.name ?? '',
        [ANN_DELETION_SECRET_NAMESPACE]: provisioner?.namespace ?? '',
        ...(modify && {
          [ANN_MODIFY_SECRET_NAME]: modify.name ?? '',
          [ANN_MODIFY_SECRET_NAMESPACE]: modify.namespace ?? '',
        }),
      },
      ...(plan.reclaimPolicy === 'Delete' && { finalizers: [FINALIZER_PROVISIONER] }),
    },
    spec: {
      capacity: { storage: formatQuantity(quantityFromBytes(facts.capacityBytes)) },
      accessModes: claim.spec.accessModes ?? [],
      persistentVolumeReclaimPolicy: plan.reclaimPolicy,
      storageClassName: storageClassOf(claim) ?? '',
      ...(plan.mountOptions.length > 0 && { mountOptions: [...plan.mountOptions] }),
      ...(claim.spec.volumeMode !== undefined && { volumeMode: claim.spec.volumeMode }),
      ...(attributesClass && { volumeAttributesClassName: attributesClass }),
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        name: claim.metadata.name,
        ...(claim.metadata.namespace !== undefined && { namespace: claim.metadata.namespace }),
        uid: claim.metadata.uid,
        resourceVersion: claim.metadata.resourceVersion,
      },
      csi: csiSource(facts),
      ...(terms.length > 0 && { nodeAffinity: { required: { nodeSelectorTerms: terms } } }),
    },
  };
}

const REF_FIELDS: readonly [SecretKind, keyof CSIPersistentVolumeSource & `${string}SecretRef`][] = [
  ['controller-publish', 'controllerPublishSecretRef'],
  ['node-stage', 'nodeStageSecretRef'],
  ['node-publish', 'nodePublishSecretRef'],
  ['controller-expand', 'controllerExpandSecretRef'],
  ['node-expand', 'nodeExpandSecretRef'],
];

function csiSource({ driver, plan, volume, handle }: VolumeFacts): CSIPersistentVolumeSource {
  const refs: Partial<Record<string, SecretReference>> = {};
  for (const [kind, field] of REF_FIELDS) {
    const ref = plan.secretRefs[kind];
    if (ref) refs[field] = ref;
  }
  return {
    driver,
    volumeHandle: handle,
    ...(plan.fsType !== '' && { fsType: plan.fsType }),
    ...(plan.readOnly && { readOnly: true }),
    ...(Object.keys(volume.volumeContext).length > 0 && { volumeAttributes: { ...volume.volumeContext } }),
    ...refs,
  };
}
