// Snapshots: each is cut under one name, of a volume that stays meanwhile; reported as ready when it is; kept while it is
// restored; deleted with its content and not before. A group is ready with all its members or not at all.

import { groupOwnerOf, memberNames } from '../../api/group-snapshots.ts';
import type {
  PersistentVolumeClaim,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import { isOfGroup } from '../../api/snapshots.ts';
import {
  FINALIZER_GROUP_SNAPSHOT_CONTENT,
  FINALIZER_SNAPSHOT_BOUND,
  FINALIZER_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import type { CallFacts, Entry } from '../history.ts';
import type { Checker, Rules } from './index.ts';

type Cut = Extract<Entry, { kind: 'snapshot' }>;

const CREATES = new Set(['CreateSnapshot', 'CreateVolumeGroupSnapshot']);
const DELETES = new Set(['DeleteSnapshot', 'DeleteVolumeGroupSnapshot']);

export function snapshotChecker({ plan, violate }: Rules): Checker {
  if (plan.snapshotClasses.length === 0) return {};
  /** By ID: those that exist on the storage. */
  const stored = new Map<string, Cut>();
  /** Names of the volumes that exist. A repeated CreateVolume of one makes nothing, and needs no snapshot. */
  const made = new Set<string>();
  /** By UID. */
  const claims = new Map<string, PersistentVolumeClaim>();
  const snapshots = new Map<string, VolumeSnapshot>();
  const groups = new Map<string, VolumeGroupSnapshot>();
  /** By name. */
  const contents = new Map<string, VolumeSnapshotContent>();
  const groupContents = new Map<string, VolumeGroupSnapshotContent>();
  /** The names that snapshots and groups have on the storage, for ever. */
  const names = new Set<string>();
  const requests = new Map<string, string>();
  /** Calls that their caller waits for. */
  const open = new Map<number, { actor: string; call: CallFacts }>();

  function created({ method, volume: name, rest }: CallFacts): void {
    if (!names.has(name)) violate('volume-name', `${method} ${name}: no snapshot has this UID`);
    const first = requests.get(name);
    if (first !== undefined && first !== rest)
      violate('changed-request', `${method} ${name} asks for ${rest}, before that for ${first}`);
    requests.set(name, rest);
  }

  /** A volume is deleted: nothing may be being cut of it that somebody still wants. */
  function volumeDeleted(volume: string, actor: string, atMs: number): void {
    const say = (what: string): void =>
      violate('cut-source', `${actor}: DeleteVolume ${volume} while ${what} is being cut of it`);
    for (const { call } of open.values()) {
      if (CREATES.has(call.method) && call.sources.includes(volume) && isWanted(call.volume))
        say(call.volume);
    }
    for (const { snapshot, source, name, readyAtMs } of stored.values()) {
      if (source === volume && readyAtMs > atMs && isWanted(name)) say(snapshot);
    }
  }

  function isWanted(name: string): boolean {
    const [kind, uid = ''] = split(name);
    const single = snapshots.get(uid);
    if (kind === 'snapshot') return single !== undefined && !single.status?.readyToUse;
    const group = groups.get(uid);
    return group !== undefined && !group.metadata.deletionTimestamp && !group.status?.readyToUse;
  }

  function snapshotDeleted({ method, volume: id }: CallFacts, actor: string): void {
    const going = [...stored.values()].filter(({ snapshot, group }) => snapshot === id || group === id);
    for (const { snapshot } of going) {
      const restore = [...open.values()].find(
        ({ call }) =>
          call.method === 'CreateVolume' && call.sources.includes(snapshot) && !made.has(call.volume),
      );
      if (restore)
        violate('restore', `${actor}: ${method} ${id} while ${restore.call.volume} is being made from it`);
    }
    for (const { metadata, spec, status } of [...contents.values(), ...groupContents.values()]) {
      const { snapshotHandle, volumeGroupSnapshotHandle } = (status ?? {}) as Record<string, unknown>;
      if (spec.deletionPolicy === 'Retain' && (snapshotHandle === id || volumeGroupSnapshotHandle === id))
        violate('deleted-retained', `${actor}: ${method} ${id}: ${metadata.name} is to be kept`);
    }
  }

  function restores({ volume: name, sources: [id] }: CallFacts, actor: string, atMs: number): void {
    if (id === undefined || made.has(name)) return;
    const snapshot = stored.get(id);
    if (snapshot === undefined)
      violate('restore', `${actor}: CreateVolume ${name} from ${id}, which is gone`);
    else if (snapshot.readyAtMs > atMs)
      violate('restore', `${actor}: CreateVolume ${name} from ${id}, which is not ready`);
  }

  /** The volume of a claim that restores a snapshot is made from that snapshot. */
  function volumeMade(name: string, source: string | undefined): void {
    const claim = claims.get(name.replace(/^pvc-/, ''));
    const wanted = claim?.spec.dataSource?.name;
    if (claim === undefined || wanted === undefined) return;
    const isRight = [...contents.values()].some(
      ({ spec, status }) =>
        status?.snapshotHandle === source &&
        spec.volumeSnapshotRef.name === wanted &&
        spec.volumeSnapshotRef.namespace === claim.metadata.namespace,
    );
    if (!source || !isRight)
      violate(
        'restore',
        `claim ${claim.metadata.name} restores ${wanted}, its volume is made from ${source}`,
      );
  }

  function becameReady(key: string, id: string | undefined, atMs: number): void {
    const snapshot = stored.get(id ?? '');
    if (snapshot === undefined || snapshot.readyAtMs > atMs)
      violate('ready-early', `${key} says that ${id} is ready, which it is not`);
  }

  function groupReady(group: VolumeGroupSnapshot): void {
    // Of a group that is being deleted, members may go first, and its controller may learn of it later.
    if (group.metadata.deletionTimestamp !== undefined) return;
    const content = groupContents.get(group.status?.boundVolumeGroupSnapshotContentName ?? '');
    for (const handle of content?.spec.source.volumeHandles ?? []) {
      const { snapshot: name } = memberNames(group.metadata.uid, handle);
      const member = [...snapshots.values()].find(({ metadata }) => metadata.name === name);
      const bound = contents.get(member?.status?.boundVolumeSnapshotContentName ?? '');
      const isWhole = member && groupOwnerOf(member) && stored.get(handleOf(bound) ?? '')?.source === handle;
      if (!isWhole)
        violate(
          'half-group',
          `group snapshot ${group.metadata.name} is ready without a member for ${handle}`,
        );
    }
  }

  function lost(plural: string, key: string, before: KubeObject, finalizer: string): void {
    const say = (why: string): void =>
      violate('finalizer-early', `${finalizer} left ${plural} ${key}: ${why}`);
    if (plural === 'volumesnapshots' && finalizer === FINALIZER_SNAPSHOT_BOUND) {
      const content = [...contents.values()].find(
        ({ spec }) => spec.deletionPolicy === 'Delete' && spec.volumeSnapshotRef.uid === before.metadata.uid,
      );
      if (content && !isOfGroup(content)) say(`content ${content.metadata.name} exists`);
    } else if (plural === 'volumesnapshotcontents' && finalizer === FINALIZER_SNAPSHOT_CONTENT) {
      const { spec } = before as VolumeSnapshotContent;
      if (spec.deletionPolicy !== 'Delete' || isOfGroup(before as VolumeSnapshotContent)) return;
      if (isStored(`snapshot-${spec.volumeSnapshotRef.uid}`)) say('its snapshot exists');
    } else if (plural === 'volumegroupsnapshotcontents' && finalizer === FINALIZER_GROUP_SNAPSHOT_CONTENT) {
      const { spec } = before as VolumeGroupSnapshotContent;
      const name = `groupsnapshot-${spec.volumeGroupSnapshotRef.uid}`;
      if (spec.deletionPolicy === 'Delete' && isStored(name)) say('its group snapshot exists');
    }
  }

  const isStored = (name: string): boolean => [...stored.values()].some((each) => each.name === name);

  function keep(plural: string, key: string, after: KubeObject | undefined, uid: string): void {
    const kept = {
      persistentvolumeclaims: claims,
      volumesnapshots: snapshots,
      volumegroupsnapshots: groups,
      volumesnapshotcontents: contents,
      volumegroupsnapshotcontents: groupContents,
    }[plural] as Map<string, KubeObject> | undefined;
    const name = plural.endsWith('contents') ? key : uid;
    if (after) kept?.set(name, after);
    // A claim that is gone may still get a volume, by a call that is late.
    else if (plural !== 'persistentvolumeclaims') kept?.delete(name);
    if (plural === 'volumesnapshots') names.add(`snapshot-${uid}`);
    if (plural === 'volumegroupsnapshots') names.add(`groupsnapshot-${uid}`);
  }

  return {
    snapshot(entry) {
      if (entry.change === 'cut') stored.set(entry.snapshot, entry);
      else stored.delete(entry.snapshot);
    },
    storage({ change, name, source }) {
      if (change === 'created') {
        made.add(name);
        volumeMade(name, source);
      } else if (change === 'deleted') made.delete(name);
    },
    call({ id, actor, call }) {
      open.set(id, { actor, call });
      if (CREATES.has(call.method)) created(call);
    },
    returned({ id }) {
      open.delete(id);
    },
    process({ process }) {
      for (const [id, { actor }] of open) if (actor === process) open.delete(id);
    },
    delivered({ call, actor, atMs }) {
      if (call.method === 'DeleteVolume') volumeDeleted(call.volume, actor, atMs);
      else if (DELETES.has(call.method)) snapshotDeleted(call, actor);
      else if (call.method === 'CreateVolume') restores(call, actor, atMs);
    },
    api({ plural, key, before, after, atMs }) {
      for (const finalizer of before?.metadata.finalizers ?? []) {
        if (before && !after?.metadata.finalizers?.includes(finalizer)) lost(plural, key, before, finalizer);
      }
      keep(plural, key, after, (after ?? before)?.metadata.uid ?? '');
      const isNews = (of: KubeObject | undefined): boolean =>
        (of as VolumeSnapshot | undefined)?.status?.readyToUse === true;
      if (!after || isNews(before) || !isNews(after)) return;
      if (plural === 'volumesnapshotcontents')
        becameReady(key, handleOf(after as VolumeSnapshotContent), atMs);
      else if (plural === 'volumegroupsnapshots') groupReady(after as VolumeGroupSnapshot);
    },
  };
}

function handleOf(content: VolumeSnapshotContent | undefined): string | undefined {
  return content?.status?.snapshotHandle ?? content?.spec.source.snapshotHandle;
}

/** `snapshot-UID` or `groupsnapshot-UID` as its two parts. */
function split(name: string): [kind: string, uid: string] {
  const dash = name.indexOf('-');
  return [name.slice(0, dash), name.slice(dash + 1)];
}
