// The objects that a populator creates: the prime claim, whose volume becomes the user's, and the pod that writes into
// it. Pure.

import type { PersistentVolumeClaim, Pod } from '../api/kinds.ts';
import { type Draft, type KubeObject, keyOf } from '../api/object.ts';
import { isBlock } from '../api/volumes.ts';
import { ANN_SELECTED_NODE } from '../api/well-known.ts';
import { type PopulateByPod, podNameOf, primeNameOf } from './populator-definition.ts';

interface Placement {
  namespace: string;
  /** The annotation that names the user's claim. */
  populates: string;
  /** With delayed binding: the node that was selected for the claim. */
  nodeName: string | undefined;
}

export function primeClaim(
  claim: PersistentVolumeClaim,
  { namespace, nodeName, populates }: Placement,
): Draft<PersistentVolumeClaim> {
  const { accessModes, resources, storageClassName, volumeMode } = claim.spec;
  return {
    metadata: {
      name: primeNameOf(claim.metadata.uid),
      namespace,
      annotations: {
        [populates]: keyOf(claim),
        ...(nodeName !== undefined && { [ANN_SELECTED_NODE]: nodeName }),
      },
    },
    spec: {
      ...(accessModes && { accessModes }),
      ...(resources && { resources }),
      ...(storageClassName !== undefined && { storageClassName }),
      ...(volumeMode && { volumeMode }),
    },
  };
}

export function populatorPod<S extends KubeObject>(
  claim: PersistentVolumeClaim,
  source: S,
  by: PopulateByPod<S>,
  { namespace, nodeName, populates }: Placement,
): Draft<Pod> {
  const { uid } = claim.metadata;
  const name = 'target';
  const volume = isBlock(claim)
    ? { volumeDevices: [{ name, devicePath: by.devicePath }] }
    : { volumeMounts: [{ name, mountPath: by.mountPath }] };
  return {
    metadata: { name: podNameOf(uid), namespace, annotations: { [populates]: keyOf(claim) } },
    spec: {
      restartPolicy: 'Never',
      ...(nodeName !== undefined && { nodeName }),
      containers: [
        {
          name: 'populate',
          image: by.image,
          imagePullPolicy: 'IfNotPresent',
          ...(by.command && { command: [...by.command] }),
          args: [...by.args(source, { isBlock: isBlock(claim) })],
          ...volume,
        },
      ],
      volumes: [{ name, persistentVolumeClaim: { claimName: primeNameOf(uid) } }],
    },
  };
}
