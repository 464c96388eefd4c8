// The rows of volumes and pods. Pure. Objects that are plainly well are not explained: an explanation reads everything related.

import { wantsExpansion } from '../api/claim-expansion.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod, VolumeAttachment } from '../api/kinds.ts';
import { type KubeObject, keyOf } from '../api/object.ts';
import { claimNameOf, isTerminated } from '../api/volumes.ts';
import type { DriverName, VolumeHandle } from '../csi/names/driver-name.ts';
import type { Link } from '../why/chain.ts';
import { explain, type Subject } from '../why/explain.ts';
import { isReady } from '../why/fact-index.ts';
import type { Facts } from '../why/facts.ts';
import type { PodRow, State, VolumeRow } from './page-messages.ts';

/** Explained rows per table: many failures usually have one cause. */
const MOST_EXPLAINED = 200;
const UNEXPLAINED = 'waits, as very many do: open it to see why';

export function volumeRows(facts: Facts): VolumeRow[] {
  const podsByClaim = grouped(
    facts.pods.filter((pod) => !isTerminated(pod)),
    (pod) => claimsOf(pod).map((name) => `${pod.metadata.namespace}/${name}`),
  );
  const attachmentsByVolume = grouped(facts.attachments, ({ spec: { source } }) =>
    source.persistentVolumeName === undefined ? [] : [source.persistentVolumeName],
  );
  const volumes = new Map(facts.volumes.map((volume) => [volume.metadata.name, volume]));
  const judge = judgement(facts);
  const taken = new Set<string>();
  const ofClaims = facts.claims.map((claim) => {
    const volume = volumes.get(claim.spec.volumeName ?? '');
    if (volume) taken.add(volume.metadata.name);
    const { state, says } = isWell(claim, volume) ? WELL : judge('claim', claim);
    return rowOf({
      subject: 'claim',
      of: claim,
      state,
      says,
      phase: claim.status?.phase ?? 'Pending',
      volume,
      className: claim.spec.storageClassName,
      size: claim.status?.capacity?.storage ?? claim.spec.resources?.requests?.storage,
      accessModes: claim.spec.accessModes,
      pods: podsByClaim.get(keyOf(claim)) ?? [],
      attachments: attachmentsByVolume.get(claim.spec.volumeName ?? '') ?? [],
    });
  });
  const ofVolumes = facts.volumes
    .filter(({ metadata }) => !taken.has(metadata.name))
    .map((volume) => {
      const phase = volume.status?.phase ?? 'Pending';
      const { state, says } = phase === 'Available' && !isGoing(volume) ? WELL : judge('volume', volume);
      return rowOf({
        subject: 'volume',
        of: volume,
        state,
        says,
        phase,
        volume,
        className: volume.spec.storageClassName,
        size: volume.spec.capacity?.storage,
        accessModes: volume.spec.accessModes,
        pods: [],
        attachments: attachmentsByVolume.get(volume.metadata.name) ?? [],
      });
    });
  return [...ofClaims, ...ofVolumes];
}

/** Pods with volumes only. */
export function podRows(facts: Facts): PodRow[] {
  const notReady = new Set(facts.nodes.filter((node) => !isReady(node)).map(({ metadata }) => metadata.name));
  const judge = judgement(facts);
  return facts.pods.flatMap((pod) => {
    const volumes = (pod.spec.volumes ?? []).flatMap((volume): PodRow['volumes'] => {
      const claim = claimNameOf(pod, volume);
      if (claim !== undefined) return [{ claim }];
      return volume.csi ? [{ driver: volume.csi.driver as DriverName }] : [];
    });
    if (volumes.length === 0) return [];
    const { metadata, spec } = pod;
    const phase = pod.status?.phase ?? 'Pending';
    const runs = phase === 'Running' && !notReady.has(spec.nodeName ?? '');
    const isWell = !isGoing(pod) && (runs || isTerminated(pod));
    return {
      id: keyOf(pod),
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      ...(isWell ? WELL : judge('pod', pod)),
      phase,
      isGoing: isGoing(pod),
      createdMs: Date.parse(metadata.creationTimestamp),
      ...(spec.nodeName && { node: spec.nodeName }),
      volumes,
    };
  });
}

interface Judged {
  readonly state: State;
  readonly says: string;
}

const WELL: Judged = { state: 'ok', says: '' };

/** The first link that is not well, for a limited number of rows. */
function judgement(facts: Facts): (subject: Subject, object: KubeObject) => Judged {
  let explained = 0;
  return (subject, object) => {
    if (++explained > MOST_EXPLAINED) return { state: 'waits', says: UNEXPLAINED };
    const culprit = explain(facts, subject, object).find(({ state }) => state !== 'ok');
    return culprit === undefined ? WELL : { state: culprit.state, says: sentence(culprit) };
  };
}

const sentence = ({ subject, says }: Link): string => `${subject}: ${says}`;

function isWell(claim: PersistentVolumeClaim, volume: PersistentVolume | undefined): boolean {
  if (claim.status?.phase !== 'Bound' || isGoing(claim) || volume === undefined || isGoing(volume))
    return false;
  return volume.status?.phase === 'Bound' && !wantsExpansion(claim);
}

function rowOf(row: {
  subject: 'claim' | 'volume';
  of: KubeObject;
  state: State;
  says: string;
  phase: string;
  volume: PersistentVolume | undefined;
  className: string | undefined;
  size: string | undefined;
  accessModes: readonly string[] | undefined;
  pods: readonly Pod[];
  attachments: readonly VolumeAttachment[];
}): VolumeRow {
  const { subject, of, state, says, phase, volume, className, size } = row;
  const { namespace, name, creationTimestamp } = of.metadata;
  const csi = volume?.spec.csi;
  return {
    id: `${subject} ${keyOf(of)}`,
    subject,
    ...(namespace && { namespace }),
    name,
    state,
    says,
    phase,
    isGoing: isGoing(of),
    createdMs: Date.parse(creationTimestamp),
    ...(size !== undefined && { size }),
    ...(className && { className }),
    accessModes: row.accessModes ?? [],
    ...(volume && { volume: volume.metadata.name }),
    ...(csi && { driver: csi.driver as DriverName, handle: csi.volumeHandle as VolumeHandle }),
    attachments: row.attachments.map((attachment) => {
      const error = attachment.status?.attachError?.message ?? attachment.status?.detachError?.message;
      return {
        node: attachment.spec.nodeName,
        attached: attachment.status?.attached === true,
        isGoing: isGoing(attachment),
        ...(error !== undefined && { error }),
      };
    }),
    pods: row.pods.map(({ metadata, spec, status }) => ({
      name: metadata.name,
      ...(spec.nodeName && { node: spec.nodeName }),
      phase: status?.phase ?? 'Pending',
    })),
  };
}

const isGoing = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;

const claimsOf = (pod: Pod): string[] =>
  (pod.spec.volumes ?? []).flatMap((volume) => claimNameOf(pod, volume) ?? []);

function grouped<T>(objects: readonly T[], keysOf: (object: T) => readonly string[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const object of objects) {
    for (const key of keysOf(object)) {
      const group = groups.get(key);
      if (group) group.push(object);
      else groups.set(key, [object]);
    }
  }
  return groups;
}
