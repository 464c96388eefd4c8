// Decides which volume a CreateVolume request asks for, and whether an existing one of that name matches. Pure.

import {
  VolumeCapability_AccessMode_Mode as Mode,
  type VolumeCapability,
  type VolumeContentSource,
} from '../../../csi/index.ts';
import type { SnapshotHandle, VolumeHandle } from '../../../csi/names/driver-name.ts';
import {
  chooseSize,
  larger,
  type RequestedRange,
  type SizeLimits,
  sizeFits,
  smaller,
} from '../../capacity.ts';
import { filesystems } from '../../filesystem/filesystem-tools.ts';
import { refuse } from '../../refuse.ts';
import type { Backing, HostpathSettings } from '../options.ts';
import type { SnapshotRecord, VolumeRecord, VolumeSource } from '../state/records.ts';

const MiB = 1n << 20n;
const GiB = 1n << 30n;
/** Volumes are thin-provisioned, so this only guards against mistakes. Also the largest file on ext4. */
const DEFAULT_MAX_BYTES = 16n * 1024n * GiB - MiB;

export const DEFAULT_FS_TYPE = 'ext4';

export interface VolumeRequest {
  name: string;
  capacityRange?: RequestedRange | undefined;
  volumeCapabilities: readonly VolumeCapability[];
  parameters: Readonly<Record<string, string>>;
  mutableParameters: Readonly<Record<string, string>>;
  volumeContentSource?: VolumeContentSource | undefined;
}

/** The planned volume, without ID and placement. */
export type VolumeLayout = Pick<
  VolumeRecord,
  'backing' | 'sizeBytes' | 'fsType' | 'accessType' | 'source' | 'mutableParameters' | 'growBeforeUse'
>;

/** The content source: a snapshot, or a volume to clone. */
export type SourceRecord = Pick<
  SnapshotRecord | VolumeRecord,
  'backing' | 'sizeBytes' | 'fsType' | 'accessType'
>;

export function planVolume(
  request: VolumeRequest,
  settings: Pick<HostpathSettings, 'backing' | 'noImages' | 'maxVolumeBytes' | 'mutableParameters'>,
  source?: SourceRecord,
): VolumeLayout {
  const accessType = accessTypeOf(request.volumeCapabilities);
  const backing = source
    ? matchingBacking(request, source)
    : chooseBacking(request, accessType, settings.backing);
  if (backing === 'image' && settings.noImages !== undefined) throw refuse.invalidArgument(settings.noImages);
  const fsType = backing === 'image' && accessType === 'mount' ? chooseFsType(request, source) : undefined;
  if (source && source.accessType !== accessType && backing === 'image') {
    throw refuse.invalidArgument(
      `the source is a ${source.accessType} volume and a ${accessType} volume is requested; request the same`,
    );
  }
  checkMutableParameters(request.mutableParameters, settings.mutableParameters);
  const sourceBytes = source?.sizeBytes ?? 0n;
  const limits = volumeSizeLimits({ backing, ...(fsType && { fsType }) }, settings);
  const sizeBytes = chooseSize(request.capacityRange, {
    ...limits,
    minBytes: larger(limits.minBytes, sourceBytes),
  });
  const planSource = sourceOf(request.volumeContentSource);
  return {
    backing,
    sizeBytes,
    accessType,
    mutableParameters: { ...request.mutableParameters },
    ...(fsType && { fsType }),
    ...(planSource && { source: planSource }),
    ...(fsType && source && sizeBytes > sourceBytes && { growBeforeUse: true }),
  };
}

/** The size limits of such a volume. */
export function volumeSizeLimits(
  { backing, fsType }: Pick<VolumeRecord, 'backing' | 'fsType'>,
  { maxVolumeBytes = DEFAULT_MAX_BYTES }: Pick<HostpathSettings, 'maxVolumeBytes'>,
): SizeLimits {
  return {
    defaultBytes: smaller(GiB, maxVolumeBytes),
    minBytes: (fsType && filesystems[fsType]?.minBytes) || 1n,
    maxBytes: maxVolumeBytes,
    stepBytes: backing === 'image' ? MiB : 1n,
  };
}

/** How the existing volume differs from the request; undefined if it does not. */
export function difference(
  existing: VolumeRecord,
  request: VolumeRequest,
  settings: Pick<HostpathSettings, 'backing'>,
): string | undefined {
  if (!sizeFits(existing.sizeBytes, request.capacityRange)) return `it has ${existing.sizeBytes} bytes`;
  const accessType = accessTypeOf(request.volumeCapabilities);
  if (accessType !== existing.accessType) return `it is a ${existing.accessType} volume`;
  if (JSON.stringify(existing.source) !== JSON.stringify(sourceOf(request.volumeContentSource))) {
    return 'its content source is another';
  }
  if (
    existing.source === undefined &&
    chooseBacking(request, accessType, settings.backing) !== existing.backing
  ) {
    return `its backing is ${existing.backing}`;
  }
  const fsType = requestedFsType(request);
  if (fsType !== undefined && existing.fsType !== undefined && fsType !== existing.fsType) {
    return `its filesystem is ${existing.fsType}`;
  }
  return undefined;
}

export function sourceOf(source: VolumeContentSource | undefined): VolumeSource | undefined {
  if (source?.type.case === 'snapshot') return { snapshotId: source.type.value.snapshotId as SnapshotHandle };
  if (source?.type.case === 'volume') return { volumeId: source.type.value.volumeId as VolumeHandle };
  return undefined;
}

export function checkMutableParameters(
  parameters: Readonly<Record<string, string>>,
  accepted: readonly string[] = DEFAULT_MUTABLE_PARAMETERS,
): void {
  for (const [name, value] of Object.entries(parameters)) {
    if (!accepted.includes(name)) {
      throw refuse.invalidArgument(
        `mutable parameter ${JSON.stringify(name)} is not known; known are: ${accepted.join(', ') || 'none'}`,
      );
    }
    if (value === '') throw refuse.invalidArgument(`mutable parameter ${JSON.stringify(name)} is empty`);
  }
}

export const DEFAULT_MUTABLE_PARAMETERS: readonly string[] = ['iops', 'throughput', 'tier'];

function accessTypeOf(capabilities: readonly VolumeCapability[]): 'mount' | 'block' {
  const types = new Set(capabilities.map((capability) => capability.accessType.case));
  if (types.size > 1) {
    throw refuse.invalidArgument(
      'a volume is either raw block or a filesystem: volume_capabilities ask for both',
    );
  }
  return types.has('block') ? 'block' : 'mount';
}

function chooseBacking(
  request: VolumeRequest,
  accessType: 'mount' | 'block',
  fallback: Backing = 'directory',
): Backing {
  const asked = requestedBacking(request.parameters);
  if (accessType === 'mount') return asked ?? fallback;
  if (asked === 'directory') {
    throw refuse.invalidArgument('a raw block volume cannot be backed by a directory; use backing: image');
  }
  return 'image';
}

function requestedBacking(parameters: Readonly<Record<string, string>>): Backing | undefined {
  const { backing } = parameters;
  if (backing === undefined || backing === 'directory' || backing === 'image') return backing;
  throw refuse.invalidArgument(`parameter backing is ${JSON.stringify(backing)}, must be directory or image`);
}

function matchingBacking(request: VolumeRequest, source: SourceRecord): Backing {
  const asked = requestedBacking(request.parameters);
  if (asked !== undefined && asked !== source.backing) {
    throw refuse.invalidArgument(
      `the source's backing is ${source.backing}, the volume cannot have ${asked}`,
    );
  }
  return source.backing;
}

function requestedFsType(request: VolumeRequest): string | undefined {
  for (const capability of request.volumeCapabilities) {
    if (capability.accessType.case === 'mount' && capability.accessType.value.fsType !== '') {
      return capability.accessType.value.fsType;
    }
  }
  return undefined;
}

function chooseFsType(request: VolumeRequest, source: SourceRecord | undefined): string {
  const asked = requestedFsType(request);
  const fsType = asked ?? source?.fsType ?? DEFAULT_FS_TYPE;
  if (filesystems[fsType] === undefined) {
    throw refuse.invalidArgument(
      `filesystem type ${JSON.stringify(fsType)} is not supported, only ${Object.keys(filesystems).join(', ')}`,
    );
  }
  if (source?.fsType !== undefined && source.fsType !== fsType) {
    throw refuse.invalidArgument(
      `the source's filesystem is ${source.fsType}, the volume cannot have ${fsType}`,
    );
  }
  return fsType;
}

/** Why a volume cannot be used in this way; undefined if it can. */
export function unusable(volume: VolumeRecord, capability: VolumeCapability): string | undefined {
  const asked = capability.accessType.case;
  if (asked !== volume.accessType) return `the volume is a ${volume.accessType} volume, not ${asked}`;
  if (capability.accessType.case === 'mount') {
    const { fsType } = capability.accessType.value;
    if (fsType !== '' && volume.fsType !== undefined && volume.fsType !== fsType) {
      return `the volume's filesystem is ${volume.fsType}, not ${fsType}`;
    }
  }
  return undefined;
}

const singleNodeModes = new Set<Mode>([
  Mode.SINGLE_NODE_WRITER,
  Mode.SINGLE_NODE_READER_ONLY,
  Mode.SINGLE_NODE_SINGLE_WRITER,
  Mode.SINGLE_NODE_MULTI_WRITER,
]);
const readerModes = new Set<Mode>([Mode.SINGLE_NODE_READER_ONLY, Mode.MULTI_NODE_READER_ONLY]);

export const isSingleNode = (mode: Mode): boolean => singleNodeModes.has(mode);
export const isReaderOnly = (mode: Mode): boolean => readerModes.has(mode);
