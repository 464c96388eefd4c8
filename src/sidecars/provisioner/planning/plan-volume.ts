// The plan of a volume: everything that is known before the driver is called, from the claim, its class, and what they
// refer to. The CreateVolume request and the PersistentVolume are both built from it. Pure.

import { hash } from 'node:crypto';
import type { PersistentVolumeClaim, SecretReference, StorageClass } from '../../../api/kinds.ts';
import { quantityToBytes } from '../../../api/quantity.ts';
import { type Segment, segmentText } from '../../../api/topology.ts';
import { isBlock, selectedNodeOf } from '../../../api/volumes.ts';
import { KEY_PV_NAME, KEY_PVC_NAME, KEY_PVC_NAMESPACE } from '../../../api/well-known.ts';
import type { VolumeCapability } from '../../../csi/generated/csi/v1/csi_pb.ts';
import { AccessModeError, volumeCapability } from '../../../csi/messages/volume-capability.ts';
import type { Driver } from '../../common/identify-driver.ts';
import type { ProvisionerFlags } from '../provisioner-flags.ts';
import { ClaimProblem, permanentProblem } from './claim-problem.ts';
import { classParameters } from './class-parameters.ts';
import { SECRET_KINDS, type SecretKind, secretReference } from './secret-references.ts';
import { volumeNameFor } from './volume-name.ts';

export type ContentSource = { kind: 'snapshot' | 'volume'; id: string };

export interface TopologyRequirement {
  requisite: readonly Segment[];
  preferred: readonly Segment[];
}

export interface PlanInput {
  claim: PersistentVolumeClaim;
  storageClass: StorageClass;
  /** Parameters of the claim's VolumeAttributesClass. */
  mutableParameters: Readonly<Record<string, string>> | undefined;
  source: ContentSource | undefined;
  topology: TopologyRequirement | undefined;
}

export interface VolumePlan {
  volumeName: string;
  selectedNode: string | undefined;
  capacityBytes: bigint;
  parameters: Readonly<Record<string, string>>;
  mutableParameters: Readonly<Record<string, string>>;
  capabilities: readonly VolumeCapability[];
  /** Also '' for block volumes. */
  fsType: string;
  readOnly: boolean;
  source: ContentSource | undefined;
  topology: TopologyRequirement | undefined;
  secretRefs: Partial<Record<SecretKind, SecretReference>>;
  mountOptions: readonly string[];
  reclaimPolicy: string;
  /** Digest of the request fields without topology. */
  digest: string;
  /** Undefined without topology. Two plans that have both digests in common ask for the same volume. */
  topologyDigest: string | undefined;
}

const MAX_INT64 = (1n << 63n) - 1n;

export function planVolume(
  input: PlanInput,
  { flags, driver: { controller } }: { flags: ProvisionerFlags; driver: Pick<Driver, 'controller'> },
): VolumePlan {
  const { claim, storageClass, source, topology, mutableParameters = {} } = input;
  const volumeName = volumeNameFor(claim.metadata.uid, flags);
  if (claim.spec.selector) {
    const problem = 'a claim with a selector only binds to an existing volume; none is provisioned for it';
    throw permanentProblem(problem);
  }
  const { driver, fsType } = classParameters(storageClass.parameters ?? {}, flags.defaultFstype);
  const names = {
    [KEY_PVC_NAME]: claim.metadata.name,
    [KEY_PVC_NAMESPACE]: claim.metadata.namespace ?? '',
    [KEY_PV_NAME]: volumeName,
  };
  const parameters = flags.extraCreateMetadata ? { ...driver, ...names } : driver;
  const accessModes = claim.spec.accessModes ?? [];
  const capacityBytes = requestedBytes(claim);
  const capabilities = capabilitiesFor(claim, {
    fsType,
    mountFlags: storageClass.mountOptions ?? [],
    singleNodeMultiWriter: controller.has('SINGLE_NODE_MULTI_WRITER'),
  });
  const selectedNode = selectedNodeOf(claim);
  return {
    volumeName,
    selectedNode,
    capacityBytes,
    parameters,
    mutableParameters,
    capabilities,
    fsType: isBlock(claim) ? '' : fsType,
    readOnly:
      flags.controllerPublishReadonly && accessModes.length === 1 && accessModes[0] === 'ReadOnlyMany',
    source,
    topology,
    secretRefs: secretRefsFor(claim, storageClass, volumeName),
    mountOptions: storageClass.mountOptions ?? [],
    reclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
    digest: digestOf([
      volumeName,
      capacityBytes.toString(),
      sorted(parameters),
      sorted(mutableParameters),
      [...accessModes],
      claim.spec.volumeMode ?? 'Filesystem',
      fsType,
      storageClass.mountOptions ?? [],
      source ?? null,
      selectedNode ?? null,
    ]),
    topologyDigest:
      topology && digestOf([topology.requisite.map(segmentText), topology.preferred.map(segmentText)]),
  };
}

function requestedBytes(claim: PersistentVolumeClaim): bigint {
  const request = claim.spec.resources?.requests?.storage;
  if (request === undefined) throw permanentProblem('the claim requests no storage size');
  const bytes = quantityToBytes(request);
  if (bytes <= 0n || bytes > MAX_INT64) {
    throw permanentProblem(`the claim requests ${request}, which is not a valid size`);
  }
  return bytes;
}

function capabilitiesFor(
  claim: PersistentVolumeClaim,
  common: { fsType: string; mountFlags: readonly string[]; singleNodeMultiWriter: boolean },
): VolumeCapability[] {
  const modes = claim.spec.accessModes ?? [];
  try {
    if (modes.length === 0) throw new AccessModeError('the claim has no access mode');
    // One capability per access mode: a volume must support each of them, not all at once.
    return modes.map((mode) =>
      volumeCapability({ ...common, accessModes: [mode], volumeMode: claim.spec.volumeMode }),
    );
  } catch (error) {
    if (error instanceof AccessModeError) throw new ClaimProblem(error.message, { slow: true, cause: error });
    throw error;
  }
}

function secretRefsFor(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  volumeName: string,
): VolumePlan['secretRefs'] {
  const values = {
    volumeName,
    claimName: claim.metadata.name,
    claimNamespace: claim.metadata.namespace ?? '',
    claimAnnotations: claim.metadata.annotations,
  };
  const refs: VolumePlan['secretRefs'] = {};
  for (const kind of SECRET_KINDS) {
    const ref = secretReference(kind, storageClass.parameters ?? {}, values);
    if (ref) refs[kind] = ref;
  }
  return refs;
}

const sorted = (map: Readonly<Record<string, string>>): [string, string][] =>
  Object.entries(map).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));

function digestOf(parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts)).slice(0, 16);
}
