// Reconciles one VolumeGroupSnapshot: reads what it refers to, has the next step decided and performs it, until nothing is
// left to do. Writes group snapshots and their statuses, their contents, and their members; emits Events.

import { dynamicGroupContentName, memberNames } from '../../api/group-snapshots.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeGroupSnapshotContents,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { labelSelectorOf, matchesLabels } from '../../api/selectors.ts';
import { type DriverName, type VolumeNames, volumeNamesOf } from '../../csi/names/driver-name.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { done, failed, type Outcome, type Reconcile } from '../../runtime/queue/loop.ts';
import type { SnapshotMetrics } from '../snapshot/snapshot-metrics.ts';
import { failureChange } from '../snapshot/snapshot-status.ts';
import type { SourceClaims } from '../snapshot/source-claims.ts';
import { decideGroup, type GroupFacts, type GroupStep, memberInfos } from './decide-group.ts';
import { isCut, isReady } from './group-status.ts';
import type { GroupCaches, GroupWrites } from './group-writes.ts';
import { planGroupContent } from './plan-group-content.ts';

export interface GroupReconcilerPorts {
  kube: KubeClient;
  clock: Clock;
  log: Log;
  recorder: EventRecorder;
  metrics: SnapshotMetrics;
  caches: GroupCaches;
  classes: Informer<VolumeGroupSnapshotClass>;
  claims: SourceClaims;
  writes: GroupWrites;
  /** The VolumeSnapshots that the group snapshot with this UID owns, as cached. */
  membersOf(groupUid: string): readonly VolumeSnapshot[];
  /** Keys of the group snapshots that cannot be cut as things are: they keep no claim from being deleted. */
  unplanned: Set<string>;
  /** By group snapshot, the claims that a content was created for. */
  planned: Map<string, ReadonlySet<string>>;
  /** The claims that are being deleted, of those that the group snapshot selects or was planned with, as cached. */
  goingClaimsOf(group: VolumeGroupSnapshot): readonly PersistentVolumeClaim[];
  /** The PersistentVolume of a driver's volume. */
  volumeOf(names: VolumeNames): PersistentVolume | undefined;
}

type Doing<K extends GroupStep['do']> = Extract<GroupStep, { do: K }>;

/** Created in this run, and perhaps not in the cache yet. */
interface Made {
  content?: VolumeGroupSnapshotContent;
  /** By key. */
  readonly members: Map<string, VolumeSnapshot>;
}

/** More steps than any group snapshot needs in its whole life. */
const MOST_STEPS = 16;

export function createGroupReconciler(ports: GroupReconcilerPorts): Reconcile {
  const { kube, clock, log, recorder, metrics, caches, writes } = ports;

  async function reconcile(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    const made: Made = { members: new Map() };
    // Before the claims are read: none of them may go between this run's plan and its content.
    ports.unplanned.delete(key);
    for (let steps = 0; steps < MOST_STEPS; steps++) {
      signal.throwIfAborted();
      const group = caches.groups.get(key);
      if (group === undefined) return done;
      const content = (await contentOf(group, signal)) ?? made.content;
      beginMetrics(group, content);
      const facts = await factsOf(group, { content, made }, signal);
      const step = decideGroup(facts);
      if (step.do === 'fail') return fail(step, group, signal);
      if (step.do === 'nothing') {
        log.v(4).info('Nothing to do', { group: key, why: step.why });
        return ended(facts, step.why);
      }
      try {
        await perform(step, { group, made }, signal);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        // The caches may never have shown what is gone now: then no event would wake this group.
        log.v(3).info('Object was deleted before the write', { group: key, step: step.do, err: error });
        return failed({ why: 'what it was about was deleted before the write', quiet: true });
      }
    }
    throw new Error(`group snapshot ${key} is not settled after ${MOST_STEPS} steps`);
  }

  /** The end of what the caches have never shown gives no event, so the group that waits for it is looked at again. */
  function ended({ group, content, members }: GroupFacts, why: string): Outcome {
    if (group.metadata.deletionTimestamp === undefined) return done;
    const isUnseen =
      (content && caches.groupContents.get(keyOf(content)) === undefined) ||
      members.some((member) => caches.snapshots.get(keyOf(member)) === undefined);
    return isUnseen ? failed({ why, quiet: true }) : done;
  }

  async function contentOf(
    group: VolumeGroupSnapshot,
    signal: AbortSignal,
  ): Promise<VolumeGroupSnapshotContent | undefined> {
    const { spec, status, metadata } = group;
    const name =
      spec.source.volumeGroupSnapshotContentName ||
      status?.boundVolumeGroupSnapshotContentName ||
      dynamicGroupContentName(group);
    const cached = caches.groupContents.get(name);
    // Absence is confirmed by the server: a content that was created a moment ago would otherwise be leaked, or, of a group
    // snapshot that is cut, reported as lost.
    const isMissed = metadata.deletionTimestamp !== undefined || isCut(group) || isReady(group);
    if (cached !== undefined || !isMissed) return cached;
    return ifThere(kube.get(volumeGroupSnapshotContents, { name }, { signal }));
  }

  async function factsOf(
    group: VolumeGroupSnapshot,
    { content, made }: { content: VolumeGroupSnapshotContent | undefined; made: Made },
    signal: AbortSignal,
  ): Promise<GroupFacts> {
    const isGoing = group.metadata.deletionTimestamp !== undefined;
    const isPlanned = content === undefined && !isGoing && !isCut(group) && group.spec.source.selector;
    const claims = isPlanned ? await selectedClaims(group, signal) : [];
    const members = await membersOf(group, made.members, signal);
    return {
      group,
      content,
      members,
      ...(isGoing && content && members.length === 0 && { strays: await straysOf(group, content, signal) }),
      plan: () => planGroupContent({ group, claims, classes: ports.classes.list() }),
      isHeld: (claim) => ports.claims.isHeld(claim),
    };
  }

  async function membersOf(
    { metadata }: VolumeGroupSnapshot,
    made: Made['members'],
    signal: AbortSignal,
  ): Promise<readonly VolumeSnapshot[]> {
    const known = new Map(made);
    for (const member of ports.membersOf(metadata.uid))
      known.set(keyOf(member), caches.snapshots.get(keyOf(member)) ?? member);
    if (known.size > 0 || metadata.deletionTimestamp === undefined) return [...known.values()];
    // The last look before the content goes: a member that was created a moment ago would otherwise be left alone.
    const { items } = await kube.list(volumeSnapshots, { namespace: metadata.namespace ?? '', signal });
    return items.filter(({ metadata: { ownerReferences = [] } }) =>
      ownerReferences.some(({ uid }) => uid === metadata.uid),
    );
  }

  /** From the server: the cache may lack a content that was created a moment ago. */
  async function straysOf(
    { metadata }: VolumeGroupSnapshot,
    content: VolumeGroupSnapshotContent,
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent[]> {
    const found = memberInfos(content).map(({ volumeHandle }) => {
      const { content: name } = memberNames(metadata.uid, volumeHandle);
      return ifThere(kube.get(volumeSnapshotContents, { name }, { signal }));
    });
    return (await Promise.all(found)).filter((each) => each !== undefined);
  }

  /** From the server: the cache may lack a claim, and a group snapshot must have them all. */
  async function selectedClaims(
    { metadata, spec }: VolumeGroupSnapshot,
    signal: AbortSignal,
  ): Promise<GroupPlanClaims> {
    const selector = labelSelectorOf(spec.source.selector);
    const { items } = await kube.list(persistentVolumeClaims, {
      namespace: metadata.namespace ?? '',
      signal,
    });
    const selected = items.filter((claim) => matchesLabels(selector, claim.metadata.labels ?? {}));
    const found = await Promise.all(
      selected.map(async (listed) => {
        // A removal of its finalizer may be in flight, or have been answered after the list; then the claim may be gone, too.
        const claim = await ports.claims.latest(listed, signal);
        return claim && { claim, volume: await boundTo(claim, signal) };
      }),
    );
    return found.filter((each) => each !== undefined);
  }

  async function boundTo(
    { spec }: PersistentVolumeClaim,
    signal: AbortSignal,
  ): Promise<PersistentVolume | undefined> {
    if (!spec.volumeName) return undefined;
    return ifThere(kube.get(persistentVolumes, { name: spec.volumeName }, { signal }));
  }

  async function perform(
    step: Exclude<GroupStep, { do: 'nothing' | 'fail' }>,
    { group, made }: { group: VolumeGroupSnapshot; made: Made },
    signal: AbortSignal,
  ): Promise<void> {
    switch (step.do) {
      case 'protect':
        return writes.protect(group, step, signal);
      case 'protect-claims':
        for (const claim of step.claims) await ports.claims.protect(claim, signal);
        return;
      case 'create-content': {
        // Before the request: it may take effect whatever becomes of the answer.
        await keepClaims(group, step.plan.claims, signal);
        const content = await writes.createContent(step.plan.draft, signal);
        made.content = content;
        log.v(2).info('Created a content', { group: keyOf(group), content: content.metadata.name });
        const message = `Waiting for the CSI driver to create group snapshot ${keyOf(group)}`;
        recorder.event(group, 'Normal', 'CreatingGroupSnapshot', message);
        return;
      }
      case 'bind-content':
        return writes.bindContent(step.content, group, signal);
      case 'create-members':
        for (const info of step.infos) {
          const { driver } = step.content.spec;
          const volume = ports.volumeOf(volumeNamesOf({ driver, volumeHandle: info.volumeHandle }));
          const member = { info, volume };
          const created = await writes.createMember(group, { content: step.content, member }, signal);
          made.members.set(keyOf(created), created);
        }
        return;
      case 'write-status':
        return writeChange(step, group, signal);
      case 'delete-members':
        for (const member of step.members) await writes.deleteMember(member, signal);
        return;
      case 'delete-strays':
        for (const stray of step.strays) await writes.deleteStray(stray, signal);
        return;
      case 'mark-content':
        return writes.markContent(step.content, signal);
      case 'delete-content':
        return writes.deleteContent(step.content, signal);
      case 'release':
        return writes.release(group, signal);
      default:
        step satisfies never;
    }
  }

  async function writeChange(
    { patch, isCut: cut, isReady: ready }: Doing<'write-status'>,
    group: VolumeGroupSnapshot,
    signal: AbortSignal,
  ): Promise<void> {
    await writes.status(group, patch, signal);
    const { uid } = group.metadata;
    const key = keyOf(group);
    if (cut) {
      metrics.end('CreateGroupSnapshot', uid);
      recorder.event(
        group,
        'Normal',
        'GroupSnapshotCreated',
        `The CSI driver has created group snapshot ${key}`,
      );
    }
    if (ready) {
      metrics.end('CreateGroupSnapshotAndReady', uid);
      recorder.event(group, 'Normal', 'GroupSnapshotReady', `Group snapshot ${key} is ready to use`);
    }
  }

  /**
   * Emits one event, on the object that the user looks at, with what the user must do. Once it is written: the write is refused
   * when the group snapshot has changed, as a cache that is behind does not show.
   */
  async function fail(
    { reason, message, unready, isUnplanned }: Doing<'fail'>,
    group: VolumeGroupSnapshot,
    signal: AbortSignal,
  ): Promise<Outcome> {
    if (isUnplanned) await letClaimsGo(group, signal);
    const status = failureChange(group, { message, unready }, clock.now());
    if (status !== undefined) {
      log.info('A group snapshot cannot be created or used yet', {
        group: keyOf(group),
        reason,
        why: message,
      });
      try {
        await writes.status(group, status, signal);
        recorder.event(group, 'Warning', reason, message);
      } catch (error) {
        // The next run tells, if it is still so. The failure is what it is about, not the conflict.
        if (!isConflict(error)) throw error;
      }
    }
    return failed({ why: message, quiet: true });
  }

  /** What an earlier plan kept and this one does not may go. */
  async function keepClaims(
    group: VolumeGroupSnapshot,
    claims: readonly PersistentVolumeClaim[],
    signal: AbortSignal,
  ): Promise<void> {
    const before = ports.planned.get(keyOf(group)) ?? new Set();
    const now = new Set(claims.map(keyOf));
    ports.planned.set(keyOf(group), now);
    for (const key of before) if (!now.has(key)) await ports.claims.release(key, signal);
  }

  /** The server confirms that there is no content: with one, the driver may be cutting. */
  async function letClaimsGo(group: VolumeGroupSnapshot, signal: AbortSignal): Promise<void> {
    const name = dynamicGroupContentName(group);
    if (await ifThere(kube.get(volumeGroupSnapshotContents, { name }, { signal }))) return;
    ports.unplanned.add(keyOf(group));
    for (const claim of ports.goingClaimsOf(group)) await ports.claims.release(keyOf(claim), signal);
  }

  function beginMetrics(group: VolumeGroupSnapshot, content: VolumeGroupSnapshotContent | undefined): void {
    const className = group.spec.volumeGroupSnapshotClassName ?? '';
    const driver = (content?.spec.driver ?? ports.classes.get(className)?.driver) as DriverName | undefined;
    const { uid, deletionTimestamp } = group.metadata;
    const isDynamic = group.spec.source.volumeGroupSnapshotContentName === undefined;
    const about = { uid, isDynamic, driver };
    if (deletionTimestamp !== undefined) {
      metrics.begin('DeleteGroupSnapshot', about);
      return;
    }
    if (isReady(group)) return;
    if (!isCut(group)) metrics.begin('CreateGroupSnapshot', about);
    metrics.begin('CreateGroupSnapshotAndReady', about);
  }

  return reconcile;
}

type GroupPlanClaims = Parameters<typeof planGroupContent>[0]['claims'];
