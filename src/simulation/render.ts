// The history as text. `lineOf` is for people; `exactLineOf` holds everything and is what two runs are compared by.

import { createHash } from 'node:crypto';
import type {
  Event,
  Lease,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  VolumeAttachment,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from '../api/kinds.ts';
import type { CallFacts, Entry } from './history.ts';

export function lineOf(entry: Entry): string {
  return `${timeOf(entry.atMs)}  ${textOf(entry)}`;
}

export function exactLineOf(entry: Entry): string {
  const { atMs, ...rest } = entry;
  return JSON.stringify({ atMs, ...rest });
}

/** A hash of the whole history. */
export function digestOf(entries: readonly Entry[]): string {
  const hash = createHash('sha256');
  for (const entry of entries) hash.update(exactLineOf(entry)).update('\n');
  return hash.digest('hex');
}

/** Too frequent to be worth a line: leases, events and requests that only succeeded. */
export function isNoise(entry: Entry): boolean {
  if (entry.kind === 'api') return entry.plural === 'leases' || entry.plural === 'events';
  return entry.kind === 'write' && (entry.outcome === 'done' || entry.plural === 'csinodeinfos');
}

function timeOf(ms: number): string {
  const seconds = (ms / 1000).toFixed(3).padStart(8);
  return `${seconds}s`;
}

function textOf(entry: Entry): string {
  switch (entry.kind) {
    case 'api':
      return `api        ${entry.plural} ${entry.key} ${changeOf(entry)}`;
    case 'write':
      return `request    ${entry.actor}: ${entry.verb} ${entry.plural} ${entry.key}: ${entry.outcome}`;
    case 'call':
      return `call       #${entry.id} ${entry.actor}: ${callText(entry.call)}`;
    case 'delivered':
      return `arrives    #${entry.id} ${entry.call.method}`;
    case 'returned':
      return `returns    #${entry.id} ${entry.actor}: ${entry.call.method} ${entry.call.volume}: ${entry.code}`;
    case 'storage':
      return `storage    ${entry.change} ${entry.volume} ${entry.name} ${entry.node} ${shortPath(entry.path)}${entry.gib ? ` ${entry.gib}Gi` : ''}`.trimEnd();
    case 'snapshot':
      return `snapshot   ${entry.change} ${entry.snapshot} of ${entry.source} ${entry.name}${entry.group}`;
    case 'fault':
      return `FAULT      ${entry.where}`;
    case 'user':
      return `user       ${entry.text}`;
    case 'process':
      return `process    ${entry.process} ${entry.what}`;
    case 'phase':
      return `phase      ${entry.phase}`;
    case 'violation':
      return `VIOLATION  ${entry.rule}: ${entry.text}`;
  }
}

function callText({ method, volume, node, path }: CallFacts): string {
  return [method, volume, node, shortPath(path)].filter((part) => part !== '').join(' ');
}

/** A target path as the UID of its pod. */
function shortPath(path: string): string {
  const pod = /\/pods\/([^/]{8})/.exec(path)?.[1];
  return pod === undefined ? '' : `for pod ${pod}`;
}

function changeOf({ plural, before, after }: Extract<Entry, { kind: 'api' }>): string {
  if (after === undefined) return 'gone';
  const parts: string[] = [before === undefined ? 'created' : 'changed'];
  if (before === undefined) parts.push(`uid ${after.metadata.uid.slice(0, 8)}`);
  if (after.metadata.deletionTimestamp) parts.push('deleting');
  parts.push(...details(plural, after));
  const finalizers = after.metadata.finalizers ?? [];
  if (finalizers.length > 0) parts.push(`[${finalizers.map((each) => each.split('/').at(-1)).join(' ')}]`);
  return parts.join(' ');
}

function details(plural: string, after: unknown): string[] {
  const known = (parts: (string | false | undefined)[]): string[] =>
    parts.filter((part) => !!part) as string[];
  switch (plural) {
    case 'persistentvolumeclaims': {
      const { spec, status } = after as PersistentVolumeClaim;
      return known([status?.phase, spec.volumeName && `-> ${spec.volumeName.slice(0, 12)}`]);
    }
    case 'persistentvolumes': {
      const { spec, status } = after as PersistentVolume;
      return known([status?.phase, spec.csi?.volumeHandle]);
    }
    case 'pods': {
      const { spec, status } = after as Pod;
      return known([status?.phase, spec.nodeName && `on ${spec.nodeName}`]);
    }
    case 'volumeattachments': {
      const { spec, status } = after as VolumeAttachment;
      const state = status?.attached ? 'attached' : 'not attached';
      const error = status?.attachError?.message ?? status?.detachError?.message;
      return known([spec.source.persistentVolumeName?.slice(0, 12), `on ${spec.nodeName}`, state, error]);
    }
    case 'volumesnapshots': {
      const { spec, status } = after as VolumeSnapshot;
      const source = spec.source.persistentVolumeClaimName;
      return known([source && `of ${source}`, status?.readyToUse && 'ready', status?.error?.message]);
    }
    case 'volumesnapshotcontents': {
      const { spec, status } = after as VolumeSnapshotContent;
      const handle = status?.snapshotHandle ?? spec.source.snapshotHandle;
      return known([handle, status?.readyToUse && 'ready', status?.error?.message]);
    }
    case 'volumegroupsnapshots': {
      const { status } = after as VolumeGroupSnapshot;
      return known([status?.readyToUse && 'ready', status?.error?.message]);
    }
    case 'volumegroupsnapshotcontents': {
      const { status } = after as VolumeGroupSnapshotContent;
      return known([
        status?.volumeGroupSnapshotHandle,
        status?.readyToUse && 'ready',
        status?.error?.message,
      ]);
    }
    case 'nodes': {
      const { status } = after as Node;
      const short = (name: string): string => name.split('^').at(-1) ?? name;
      return [
        `in use {${(status?.volumesInUse ?? []).map(short).join(' ')}}`,
        `attached {${(status?.volumesAttached ?? []).map(({ name }) => short(name)).join(' ')}}`,
      ];
    }
    case 'events': {
      const { reason, message } = after as Event;
      return known([reason, message]);
    }
    case 'leases':
      return known([(after as Lease).spec?.holderIdentity]);
    default:
      return [];
  }
}
