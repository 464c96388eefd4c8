// From a snapshot, or a group of them, to the storage: do its class and its source exist, and what was reported. Pure.

import type { PersistentVolumeClaim, VolumeGroupSnapshot, VolumeSnapshot } from '../api/kinds.ts';
import { keyOf } from '../api/object.ts';
import type { DriverName } from '../csi/names/driver-name.ts';
import type { Link } from './chain.ts';
import { claimNamed, volumeNamed } from './fact-index.ts';
import type { Facts } from './facts.ts';
import { end, objectArgument, ok, reported, since } from './link.ts';
import { newestReport, reportInStatus } from './report.ts';
import { absenceOf, lookAt } from './who-works.ts';

const FAILURES = [
  'SnapshotCreationFailed',
  'SnapshotContentCreationFailed',
  'SnapshotFinalizerError',
  'SnapshotDeleteError',
  'SnapshotDeletePending',
  'SnapshotContentMissing',
  'SnapshotContentMismatch',
  'SnapshotContentMisbound',
  'SetDefaultSnapshotClassFailed',
  'GetSnapshotClassFailed',
  'ContentValidationError',
];

export function explainSnapshot(facts: Facts, snapshot: VolumeSnapshot): Link[] {
  const { metadata, spec, status } = snapshot;
  const subject = `VolumeSnapshot ${keyOf(snapshot)}`;
  const going = metadata.deletionTimestamp;
  if (going === undefined && status?.readyToUse)
    return [ok(subject, `ready, ${status.restoreSize ?? 'size unknown'}`)];
  const problem = going === undefined ? problemOf(facts, snapshot) : undefined;
  if (problem !== undefined)
    return [end(facts, 'stuck', subject, problem.says, { ...problem, about: snapshot })];
  const content = facts.contents?.find(
    ({ metadata: { name } }) => name === status?.boundVolumeSnapshotContentName,
  );
  const report =
    reportInStatus(facts, content?.status?.error ?? status?.error, [content, snapshot]) ??
    newestReport(facts, [content, snapshot], FAILURES);
  const snapshotClass = facts.snapshotClasses?.find(
    ({ metadata: { name } }) => name === spec.volumeSnapshotClassName,
  );
  const driver = (content?.spec.driver ?? snapshotClass?.driver) as DriverName | undefined;
  if (report !== undefined) {
    const operation = going === undefined ? 'CreateSnapshot' : 'DeleteSnapshot';
    const attempt = { operation, driver, object: objectArgument('volumesnapshot', snapshot) } as const;
    const before = going === undefined ? '' : `is being deleted${since(going, facts)}: `;
    return [reported(facts, subject, { report, attempt, before, about: content ?? snapshot })];
  }
  if (going !== undefined) {
    const says = `is being deleted${since(going, facts)}: finalizers ${(metadata.finalizers ?? []).join(', ')}`;
    return [end(facts, 'waits', subject, says, { about: snapshot })];
  }
  const absence = driver && absenceOf(facts, 'snapshotter', driver);
  const waitsFor =
    content === undefined
      ? {
          says: 'the snapshot controller did not look at it yet',
          todo: ['check that the snapshot controller runs: it is installed once for all drivers'],
        }
      : {
          says:
            absence ?? `waits for the snapshotter of ${driver}${since(metadata.creationTimestamp, facts)}`,
          todo: driver ? [lookAt('snapshotter', driver)] : [],
        };
  return [
    end(facts, absence ? 'stuck' : 'waits', subject, waitsFor.says, {
      ...waitsFor,
      about: content ?? snapshot,
    }),
  ];
}

/** What the snapshot names and does not exist, or does not fit. */
function problemOf(
  facts: Facts,
  { metadata: { namespace }, spec }: VolumeSnapshot,
): { says: string; todo: string[]; cause?: string } | undefined {
  const { persistentVolumeClaimName: claimName, volumeSnapshotContentName: contentName } = spec.source;
  const className = spec.volumeSnapshotClassName;
  const snapshotClass = facts.snapshotClasses?.find(({ metadata: { name } }) => name === className);
  if (className && facts.snapshotClasses !== undefined && snapshotClass === undefined) {
    return {
      says: `its VolumeSnapshotClass ${className} does not exist`,
      todo: [
        `create VolumeSnapshotClass ${className}`,
        'or create the snapshot again with a class that exists',
      ],
      cause: `no VolumeSnapshotClass ${className}`,
    };
  }
  if (contentName && facts.contents?.some(({ metadata: { name } }) => name === contentName) === false) {
    return {
      says: `its VolumeSnapshotContent ${contentName} does not exist`,
      todo: [`create VolumeSnapshotContent ${contentName}`],
    };
  }
  if (claimName === undefined) return undefined;
  const claim = claimNamed(facts, { namespace, name: claimName });
  if (claim === undefined) {
    return {
      says: `its source, PersistentVolumeClaim ${namespace}/${claimName}, does not exist`,
      todo: [`create PersistentVolumeClaim ${namespace}/${claimName}`, 'or delete the snapshot'],
    };
  }
  if (claim.status?.phase !== 'Bound') {
    return {
      says: `its source, PersistentVolumeClaim ${namespace}/${claimName}, is not bound`,
      todo: [`ask further: berth why ${objectArgument('pvc', claim)}`],
    };
  }
  const driver = volumeNamed(facts, claim.spec.volumeName)?.spec.csi?.driver;
  if (snapshotClass && driver !== undefined && snapshotClass.driver !== driver) {
    return {
      says: `its VolumeSnapshotClass ${className} is of driver ${snapshotClass.driver}, the volume of ${driver}`,
      todo: [`create the snapshot again with a VolumeSnapshotClass of ${driver}`],
    };
  }
  return undefined;
}

export function explainGroup(facts: Facts, group: VolumeGroupSnapshot): Link[] {
  const { metadata, spec, status } = group;
  const subject = `VolumeGroupSnapshot ${keyOf(group)}`;
  // Expressions are left to the controller, which reports those that are wrong.
  const { matchLabels, matchExpressions = [] } = spec.source.selector ?? {};
  const isSelected = ({ metadata: { namespace, labels } }: PersistentVolumeClaim): boolean =>
    namespace === metadata.namespace &&
    Object.entries(matchLabels ?? {}).every(([key, value]) => labels?.[key] === value);
  if (metadata.deletionTimestamp === undefined && status?.readyToUse) return [ok(subject, 'ready')];
  const report =
    reportInStatus(facts, status?.error, [group]) ?? newestReport(facts, [group], GROUP_FAILURES);
  if (report !== undefined) {
    // All members are volumes of one driver.
    const member = matchLabels && facts.claims.find(isSelected);
    const attempt = {
      operation:
        metadata.deletionTimestamp === undefined ? 'CreateVolumeGroupSnapshot' : 'DeleteVolumeGroupSnapshot',
      driver: volumeNamed(facts, member?.spec.volumeName)?.spec.csi?.driver as DriverName | undefined,
      object: `volumegroupsnapshot ${metadata.name} -n ${metadata.namespace}`,
    } as const;
    return [reported(facts, subject, { report, attempt, about: group })];
  }
  if (matchLabels && matchExpressions.length === 0 && !facts.claims.some(isSelected)) {
    const says = `no claim in ${metadata.namespace} has the labels that it selects`;
    const todo = ['label the claims, or create the group snapshot again with another selector'];
    return [end(facts, 'stuck', subject, says, { todo, about: group })];
  }
  const says = `waits for the snapshot controller${since(metadata.creationTimestamp, facts)}`;
  const todo = ['check that the snapshot controller runs with group snapshots enabled'];
  return [end(facts, 'waits', subject, says, { todo, about: group })];
}

const GROUP_FAILURES = [
  'GroupSnapshotCreationFailed',
  'GroupSnapshotContentCreationFailed',
  'GroupSnapshotContentMissing',
  'GroupSnapshotContentMismatch',
  'GroupSnapshotContentMisbound',
  'SetDefaultGroupSnapshotClassFailed',
  'GetGroupSnapshotClassFailed',
  'CreateGroupSnapshotContentFailed',
];
