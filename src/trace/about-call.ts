// The subject of a CSI call: the request fields that may be shown, and the links by which the call is found. Pure.

import type { SnapshotHandle, VolumeHandle } from '../csi/names/driver-name.ts';
import type { CallRequest, CsiEntry, Token } from './trace-entry.ts';
import { handleToken, podUidToken, volumeToken } from './trace-entry.ts';

/** Fields of requests that say what a call is about. All others, secrets first of all, are left out. */
const SHOWN = [
  'name',
  'volumeId',
  'snapshotId',
  'baseSnapshotId',
  'targetSnapshotId',
  'groupSnapshotId',
  'sourceVolumeId',
  'nodeId',
  'stagingTargetPath',
  'targetPath',
  'volumePath',
] as const;

const HANDLES = [
  'volumeId',
  'sourceVolumeId',
  'snapshotId',
  'baseSnapshotId',
  'targetSnapshotId',
  'groupSnapshotId',
] as const;

export function shownOf(request: Readonly<Record<string, unknown>>): CallRequest {
  const shown: Record<string, string> = {};
  for (const field of SHOWN) {
    const value = request[field];
    if (typeof value === 'string' && value !== '') shown[field] = value;
  }
  return shown;
}

/** A call without these links is not recorded. */
export function linksOf(shown: CallRequest): Pick<CsiEntry, 'links' | 'podUid'> {
  const links: Token[] = [];
  if (shown.name) links.push(volumeToken(shown.name));
  for (const field of HANDLES) {
    if (shown[field]) links.push(handleToken(shown[field] as VolumeHandle | SnapshotHandle));
  }
  const podUid = podUidOf(shown);
  if (podUid !== undefined) links.push(podUidToken(podUid));
  return { links, ...(podUid !== undefined && { podUid }) };
}

/** Whether there are links, for less than it takes to make them. */
export function isAboutVolume(shown: CallRequest): boolean {
  return Boolean(shown.name || HANDLES.some((field) => shown[field])) || podUidOf(shown) !== undefined;
}

function podUidOf(shown: CallRequest): string | undefined {
  return /\/pods\/([0-9a-f-]{36})\//.exec(shown.targetPath ?? shown.volumePath ?? '')?.[1];
}
