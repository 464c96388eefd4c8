import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, VolumeAttachment } from '../../src/api/kinds.ts';
import { attacherFinalizer } from '../../src/api/well-known.ts';
import { VolumeCapability_AccessMode_Mode as Mode } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { AccessModeError, volumeCapability } from '../../src/csi/messages/volume-capability.ts';
import { parseDriverName, parseNodeId } from '../../src/csi/names/driver-name.ts';
import { decideAttachment } from '../../src/sidecars/attacher/decide-attachment.ts';
import type { VolumeToPublish } from '../../src/sidecars/attacher/volume-source.ts';
import { agree, type Difference, recorded } from './recorded.ts';

interface Case {
  deleting?: boolean;
  attached?: boolean;
  finalizer?: boolean;
  /** In the annotation. */
  recordedNode?: string;
  /** The node ID in CSINode; `no-driver`: CSINode is without the driver; absent: there is none. */
  csiNode?: string;
  source: 'pv' | 'inline' | 'missing' | 'none' | 'both' | 'not-csi';
  volume: {
    modes: string[];
    handle: string;
    fsType: string;
    readOnly?: boolean;
    attributes?: Record<string, string>;
    block?: boolean;
    mountOptions?: string[];
    deleted?: boolean;
  };
  publishReadOnly?: boolean;
  singleNodeMultiWriter?: boolean;
  defaultFsType?: string;
  /** The call that was made, `refuse` for an error before any, or `nothing`. */
  answer: { do: 'publish' | 'unpublish' | 'refuse' | 'nothing'; [field: string]: unknown };
}

const stamp = { resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
const deleted = { deletionTimestamp: stamp.creationTimestamp };
const ANN_NODE_ID = 'csi.alpha.kubernetes.io/node-id';

function specOf({ volume }: Case): PersistentVolume['spec'] {
  const { modes, handle, fsType, readOnly, attributes, block, mountOptions } = volume;
  return {
    accessModes: modes,
    volumeMode: block ? 'Block' : 'Filesystem',
    csi: {
      driver: 'd',
      volumeHandle: handle,
      ...(fsType && { fsType }),
      ...(readOnly && { readOnly }),
      ...(attributes && { volumeAttributes: attributes }),
    },
    ...(mountOptions && { mountOptions }),
  };
}

function volumeOf(given: Case): PersistentVolume | undefined {
  if (given.source === 'missing' || given.source === 'none' || given.source === 'inline') return undefined;
  const { csi, ...rest } = specOf(given);
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { ...stamp, name: 'pv', uid: 'pv', ...(given.volume.deleted && deleted) },
    spec: { ...rest, ...(given.source !== 'not-csi' && csi && { csi }) },
  };
}

function attachmentOf(given: Case): VolumeAttachment {
  const { source, deleting, finalizer, recordedNode, attached = false } = given;
  const byName = source !== 'inline' && source !== 'none';
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: {
      ...stamp,
      name: 'va',
      uid: 'va',
      ...(deleting && deleted),
      ...(finalizer && { finalizers: [attacherFinalizer('d')] }),
      ...(recordedNode && { annotations: { [ANN_NODE_ID]: recordedNode } }),
    },
    spec: {
      attacher: 'd',
      nodeName: 'n',
      source: {
        ...(byName && { persistentVolumeName: 'pv' }),
        ...((source === 'inline' || source === 'both') && { inlineVolumeSpec: specOf(given) }),
      },
    },
    status: { attached },
  };
}

function publishCall(volume: VolumeToPublish, nodeId: string, given: Case): Case['answer'] {
  let capability: ReturnType<typeof volumeCapability>;
  try {
    capability = volumeCapability({
      accessModes: volume.accessModes,
      volumeMode: volume.volumeMode,
      fsType: volume.fsType || given.defaultFsType,
      mountFlags: volume.mountOptions,
      singleNodeMultiWriter: given.singleNodeMultiWriter ?? false,
    });
  } catch (error) {
    if (error instanceof AccessModeError) return { do: 'refuse' };
    throw error;
  }
  const { accessMode, accessType } = capability;
  return {
    do: 'publish',
    handle: volume.handle,
    node: nodeId,
    mode: Object.entries(Mode).find(([, value]) => value === accessMode?.mode)?.[0],
    ...(volume.readOnly && given.publishReadOnly && { readOnly: true }),
    ...(Object.keys(volume.attributes).length > 0 && { attributes: volume.attributes }),
    ...(accessType.case === 'mount'
      ? {
          fsType: accessType.value.fsType,
          ...(accessType.value.mountFlags.length > 0 && { flags: accessType.value.mountFlags }),
        }
      : { block: true }),
  };
}

function answer(given: Case): Case['answer'] {
  const decision = decideAttachment({
    attachment: attachmentOf(given),
    driver: parseDriverName('d'),
    persistentVolume: volumeOf(given),
    nodeId: given.csiNode === 'node-id' ? parseNodeId('node-id') : undefined,
    publishes: true,
    drifted: false,
  });
  switch (decision.do) {
    case 'publish':
      return publishCall(decision.volume, decision.nodeId, given);
    case 'unpublish':
      return { do: 'unpublish', handle: decision.volume.handle, node: decision.nodeId };
    case 'refuse':
      return { do: 'refuse' };
    default:
      return { do: 'nothing' };
  }
}

const text = (value: Case['answer']): string =>
  JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));

const differences: Difference<Case>[] = [
  {
    row: 'node ID on detach',
    applies: ({ deleting, recordedNode }) => deleting === true && recordedNode !== undefined,
  },
  {
    row: 'an inline volume without access modes',
    applies: ({ source, volume }) => source === 'inline' && volume.modes.length === 0,
  },
  { row: 'a volume with an empty handle', applies: ({ volume }) => volume.handle === '' },
];

const { attachments, finalizers } = recorded<{ attachments: Case[]; finalizers: [string, string][] }>(
  'attachment',
);

test('ControllerPublish and ControllerUnpublish requests are external-attacher’s', () => {
  agree(attachments, {
    same: (given) =>
      text(answer(given)) === text(given.answer) ? undefined : `decided ${text(answer(given))}`,
    differences,
  });
});

test('finalizers are called as external-attacher calls them', () => {
  for (const [driver, finalizer] of finalizers) assert.equal(attacherFinalizer(driver), finalizer, driver);
});
