// What a driver is: an object with the operations that it can do. Everything it tells others about itself (capabilities,
// access modes, topology) follows from this object, in capabilities.ts, so the two cannot disagree. No I/O here.

import type {
  Controller,
  GroupController,
  Node,
  SnapshotMetadata,
  VolumeCapability,
  VolumeCapability_AccessMode_Mode,
} from '../csi/index.ts';
import type { Log, SecretValue } from '../runtime/ports.ts';
import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '../wire/protobuf/descriptor.ts';

/** What an operation knows of the call beside the request. */
export interface DriverCall {
  /** Aborts when the caller gave up or the driver is being stopped. What was begun may be finished or undone. */
  readonly signal: AbortSignal;
  /** When the caller stops waiting, in wall-clock milliseconds; undefined when it waits for ever. */
  readonly deadline: number | undefined;
  /** Knows the method; lines need not repeat it. */
  readonly log: Log;
}

export type Secrets = SecretValue<Readonly<Record<string, string>>>;

/** A request whose required fields are there and well-formed, and whose secrets do not show in logs. */
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
  ? Omit<R, 'secrets'> & { readonly secrets: Secrets }
  : R;

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

/** What an operation's presence cannot tell. A feature that is not claimed is refused before the operation runs. */
export interface DriverFeatures {
  /** `createVolume` takes a volume as its content source. */
  cloneVolume?: boolean;
  /** `controllerPublishVolume` honours `readonly`. */
  publishReadOnly?: boolean;
  /** `listVolumes` and `controllerGetVolume` tell the nodes that each volume is published to. */
  publishedNodes?: boolean;
  /** Conditions are told in lists, and in `nodeGetVolumeStats`. */
  volumeCondition?: boolean;
  /** The modes SINGLE_NODE_SINGLE_WRITER and SINGLE_NODE_MULTI_WRITER are told apart. */
  singleNodeMultiWriter?: boolean;
  /** The node operations apply `volume_mount_group` themselves. */
  volumeMountGroup?: boolean;
  /** Volumes are not equally reachable from all nodes; `createVolume` and `nodeGetInfo` speak of topology. */
  topology?: boolean;
  /** Whether a published volume can grow; `online` unless told. */
  expansion?: 'online' | 'offline';
}

export type AccessModeName = Exclude<keyof typeof VolumeCapability_AccessMode_Mode, 'UNKNOWN'>;

export interface DriverDefinition {
  /** Reverse domain name, at most 63 characters. */
  name: string;
  version: string;
  /** Told by GetPluginInfo. */
  manifest?: Readonly<Record<string, string>>;
  features?: DriverFeatures;
  /** Modes that volumes can have; every mode unless told. */
  accessModes?: readonly AccessModeName[];
  /** Filesystem, raw block, or both. Filesystem alone unless told. */
  accessTypes?: readonly ('mount' | 'block')[];
  controller?: ControllerOperations;
  groupController?: GroupControllerOperations;
  snapshotMetadata?: SnapshotMetadataOperations;
  node?: NodeOperations;
  /**
   * Called by Probe. False: not ready yet, ask again. Throwing says that the driver is broken; a message that helps
   * the admin is worth it.
   */
  probe?: () => boolean | Promise<boolean>;
}

export type Driver = Readonly<DriverDefinition>;

// Operations of which one without the other makes no sense.
const pairs: readonly (readonly ['controller' | 'node', string, string])[] = [
  ['controller', 'createVolume', 'deleteVolume'],
  ['controller', 'controllerPublishVolume', 'controllerUnpublishVolume'],
  ['controller', 'createSnapshot', 'deleteSnapshot'],
  ['node', 'nodeStageVolume', 'nodeUnstageVolume'],
];

/** Checks a definition; what it returns is what `driverServices` and `serveDriver` take. Throws on a contradiction. */
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
      problems.push(`${first} and ${second} come together, one of them is missing`);
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
