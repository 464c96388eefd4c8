// The definition of a driver: an object with the operations that it implements. capabilities.ts derives everything that
// the driver reports (capabilities, access modes, topology) from this object, so the two cannot disagree. No I/O.

import type {
  Controller,
  GroupController,
  Node,
  SnapshotMetadata,
  VolumeCapability,
  VolumeCapability_AccessMode_Mode,
} from '../csi/index.ts';
import type { GroupSnapshotHandle, NodeId, SnapshotHandle, VolumeHandle } from '../csi/names/driver-name.ts';
import type { Log, SecretValue } from '../runtime/ports.ts';
import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '../wire/protobuf/descriptor.ts';

/** The context of a call, beside its request. */
export interface DriverCall {
  /** Aborts when the caller cancels or the driver stops. The operation may finish or roll back what it began. */
  readonly signal: AbortSignal;
  /** The caller's deadline, in wall-clock milliseconds; undefined when there is none. */
  readonly deadline: number | undefined;
  /** Adds the method to every line. */
  readonly log: Log;
}

export type Secrets = SecretValue<Readonly<Record<string, string>>>;

/** A validated request: required fields are present and well-formed, and secrets are redacted in logs. */
export type CheckedRequest<R> = HiddenSecrets<
  R extends { $typeName: RequestsWithCapability; volumeCapability?: unknown }
    ? R & { volumeCapability: VolumeCapability }
    : R extends { $typeName: 'csi.v1.ControllerExpandVolumeRequest'; capacityRange?: unknown }
      ? R & { capacityRange: NonNullable<R['capacityRange']> }
      : R
>;

type RequestsWithCapability =
  | 'csi.v1.ControllerPublishVolumeRequest'
  | 'csi.v1.NodeStageVolumeRequest'
  | 'csi.v1.NodePublishVolumeRequest';

type HiddenSecrets<R> = R extends { secrets: unknown }
  ? Omit<BrandedIds<R>, 'secrets'> & { readonly secrets: Secrets }
  : BrandedIds<R>;

/** A volume's ID cannot be passed where a node's is expected. */
type BrandedIds<R> = { [K in keyof R]: K extends keyof Ids ? Ids[K] : R[K] };

interface Ids {
  volumeId: VolumeHandle;
  sourceVolumeId: VolumeHandle;
  sourceVolumeIds: VolumeHandle[];
  nodeId: NodeId;
  snapshotId: SnapshotHandle;
  snapshotIds: SnapshotHandle[];
  groupSnapshotId: GroupSnapshotHandle;
}

type Operation<M> =
  M extends DescMethodUnary<infer I, infer O>
    ? (
        request: CheckedRequest<MessageShape<I>>,
        call: DriverCall,
      ) => MessageInitShape<O> | Promise<MessageInitShape<O>>
    : M extends DescMethodServerStreaming<infer I, infer O>
      ? (request: CheckedRequest<MessageShape<I>>, call: DriverCall) => AsyncIterable<MessageInitShape<O>>
      : never;

type Operations<
  S extends DescService,
  Required extends keyof S['method'],
  Derived extends keyof S['method'],
> = {
  [K in Exclude<keyof S['method'], Derived | Required>]?: Operation<S['method'][K]>;
} & { [K in Required]: Operation<S['method'][K]> };

export type ControllerOperations = Operations<
  typeof Controller,
  'validateVolumeCapabilities',
  'controllerGetCapabilities'
>;
export type NodeOperations = Operations<
  typeof Node,
  'nodePublishVolume' | 'nodeUnpublishVolume' | 'nodeGetInfo',
  'nodeGetCapabilities'
>;
export type GroupControllerOperations = Operations<
  typeof GroupController,
  'createVolumeGroupSnapshot' | 'deleteVolumeGroupSnapshot' | 'getVolumeGroupSnapshot',
  'groupControllerGetCapabilities'
>;
export type SnapshotMetadataOperations = Operations<
  typeof SnapshotMetadata,
  'getMetadataAllocated' | 'getMetadataDelta',
  never
>;

/** Features that cannot be derived from the operations. Requests for an unclaimed feature are rejected. */
export interface DriverFeatures {
  /** `createVolume` accepts a volume as its content source. */
  cloneVolume?: boolean;
  /** `controllerPublishVolume` honours `readonly`. */
  publishReadOnly?: boolean;
  /** `listVolumes` and `controllerGetVolume` report the nodes that each volume is published to. */
  publishedNodes?: boolean;
  /** Lists and `nodeGetVolumeStats` report volume conditions. */
  volumeCondition?: boolean;
  /** The driver distinguishes SINGLE_NODE_SINGLE_WRITER from SINGLE_NODE_MULTI_WRITER. */
  singleNodeMultiWriter?: boolean;
  /** The node operations apply `volume_mount_group` themselves. */
  volumeMountGroup?: boolean;
  /** Volumes are not equally reachable from all nodes; `createVolume` and `nodeGetInfo` report topology. */
  topology?: boolean;
  /** Whether a published volume can be expanded; default `online`. */
  expansion?: 'online' | 'offline';
}

export type AccessModeName = Exclude<keyof typeof VolumeCapability_AccessMode_Mode, 'UNKNOWN'>;

export interface DriverDefinition {
  /** Reverse domain name, at most 63 characters. */
  name: string;
  version: string;
  /** Reported by GetPluginInfo. */
  manifest?: Readonly<Record<string, string>>;
  features?: DriverFeatures;
  /** Supported access modes; default all. */
  accessModes?: readonly AccessModeName[];
  /** Filesystem, raw block, or both; default filesystem only. */
  accessTypes?: readonly ('mount' | 'block')[];
  controller?: ControllerOperations;
  groupController?: GroupControllerOperations;
  snapshotMetadata?: SnapshotMetadataOperations;
  node?: NodeOperations;
  /**
   * Called by Probe. False: not ready yet, probe again. Throw when the driver is broken, with a message that tells the
   * admin what to do.
   */
  probe?: () => boolean | Promise<boolean>;
}

export type Driver = Readonly<DriverDefinition>;

// Operations that are only valid together.
const pairs: readonly (readonly ['controller' | 'node', string, string])[] = [
  ['controller', 'createVolume', 'deleteVolume'],
  ['controller', 'controllerPublishVolume', 'controllerUnpublishVolume'],
  ['controller', 'createSnapshot', 'deleteSnapshot'],
  ['node', 'nodeStageVolume', 'nodeUnstageVolume'],
];

/** Checks a definition, for `driverServices` and `serveDriver`. Throws on a contradiction. */
export function defineDriver(definition: DriverDefinition): Driver {
  const problems: string[] = [];
  if (!/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/i.test(definition.name)) {
    problems.push(
      `the name ${JSON.stringify(definition.name)} is not a domain name of at most 63 letters, digits, "-" and "."`,
    );
  }
  if (definition.version === '') problems.push('the version is empty');
  if (!definition.controller && !definition.node && !definition.groupController) {
    problems.push('it has neither controller nor node operations');
  }
  for (const [service, first, second] of pairs) {
    const operations = definition[service] as Record<string, unknown> | undefined;
    if (operations && Boolean(operations[first]) !== Boolean(operations[second])) {
      problems.push(`${first} and ${second} must both be implemented, and one is missing`);
    }
  }
  if (definition.features?.cloneVolume && !definition.controller?.createVolume) {
    problems.push('cloneVolume is claimed without createVolume');
  }
  if (definition.features?.publishReadOnly && !definition.controller?.controllerPublishVolume) {
    problems.push('publishReadOnly is claimed without controllerPublishVolume');
  }
  if (problems.length > 0) {
    throw new TypeError(`driver ${definition.name} cannot be served: ${problems.join('; ')}`);
  }
  return definition;
}
