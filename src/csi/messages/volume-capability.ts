// From the words of Kubernetes (access modes, volume mode, fsType, mount options) to a CSI VolumeCapability: the one
// mapping that provisioner, attacher and node share, so that a driver is told the same at every step.

import { create } from '../../wire/protobuf/create.ts';
import {
  VolumeCapability_AccessMode_Mode as Mode,
  type VolumeCapability,
  VolumeCapabilitySchema,
} from '../generated/csi/v1/csi_pb.ts';

export interface CapabilityInput {
  accessModes: readonly string[];
  /** 'Block' or 'Filesystem'; absent means a filesystem. */
  volumeMode?: string | undefined;
  fsType?: string | undefined;
  mountFlags?: readonly string[] | undefined;
  /** NodeStage/NodePublish only: the group that the driver applies by itself (VOLUME_MOUNT_GROUP). */
  volumeMountGroup?: string | undefined;
  /** The driver has the SINGLE_NODE_MULTI_WRITER capability: ReadWriteOnce and ReadWriteOncePod can be told apart. */
  singleNodeMultiWriter: boolean;
}

/** Access modes that no single CSI mode can express. The message names them; nothing was asked of the driver. */
export class AccessModeError extends Error {
  override readonly name = 'AccessModeError';
}

export function csiAccessMode(accessModes: readonly string[], singleNodeMultiWriter: boolean): Mode {
  const modes = new Set(accessModes);
  if (modes.has('ReadWriteOncePod')) {
    if (modes.size > 1) {
      throw new AccessModeError(`access mode ReadWriteOncePod cannot be combined: ${accessModes.join(', ')}`);
    }
    return singleNodeMultiWriter ? Mode.SINGLE_NODE_SINGLE_WRITER : Mode.SINGLE_NODE_WRITER;
  }
  if (modes.has('ReadWriteMany')) return Mode.MULTI_NODE_MULTI_WRITER;
  if (modes.has('ReadOnlyMany') && modes.has('ReadWriteOnce')) {
    throw new AccessModeError('CSI has no access mode that is both ReadOnlyMany and ReadWriteOnce');
  }
  if (modes.has('ReadOnlyMany')) return Mode.MULTI_NODE_READER_ONLY;
  if (modes.has('ReadWriteOnce')) {
    return singleNodeMultiWriter ? Mode.SINGLE_NODE_MULTI_WRITER : Mode.SINGLE_NODE_WRITER;
  }
  throw new AccessModeError(
    accessModes.length === 0
      ? 'no access mode is given'
      : `access modes not known to CSI: ${accessModes.join(', ')}`,
  );
}

export function volumeCapability(input: CapabilityInput): VolumeCapability {
  const mode = csiAccessMode(input.accessModes, input.singleNodeMultiWriter);
  if (input.volumeMode === 'Block') {
    return create(VolumeCapabilitySchema, { accessType: { case: 'block', value: {} }, accessMode: { mode } });
  }
  return create(VolumeCapabilitySchema, {
    accessType: {
      case: 'mount',
      value: {
        fsType: input.fsType ?? '',
        mountFlags: [...(input.mountFlags ?? [])],
        volumeMountGroup: input.volumeMountGroup ?? '',
      },
    },
    accessMode: { mode },
  });
}
