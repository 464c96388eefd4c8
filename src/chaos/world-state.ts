// Whether a condition of a scenario holds now, and what is missing if not. Reads the API server and the storage, never a
// component.

import { wantsExpansion } from '../api/claim-expansion.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  statefulSets,
  volumeAttachments,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../api/kinds.ts';
import { type KubeObject, keyOf, type Resource } from '../api/object.ts';
import type { Reader } from '../apiserver/pipeline.ts';
import { type Audit, type AuditOptions, type AuditPorts, audit } from '../audit/audit.ts';
import { obstacles } from '../audit/decide/find.ts';
import { DEFAULT_JUDGE_OPTIONS } from '../audit/decide/options.ts';
import { NAMESPACE } from '../demo/story-objects.ts';
import type { ActiveFaults } from '../faults/active-faults.ts';
import { type ExplainedKind, explain } from '../why/explain.ts';
import { readFacts } from '../why/facts.ts';
import type { Condition } from './condition.ts';

/** `csi` reaches the controller service past all faults. */
export interface WatchedWorld extends AuditPorts {
  readonly reader: Reader;
  readonly faults: ActiveFaults;
  /** What the auditor found when the scenario began. */
  readonly before: Audit;
  readonly signal: AbortSignal;
}

/** The cluster is younger than any minimum age, and whatever else uses the storage was there before it. */
export const AUDIT_OPTIONS: AuditOptions = {
  ...DEFAULT_JUDGE_OPTIONS,
  minAgeMs: 0,
  isExclusive: true,
  timeoutMs: 10_000,
  confirmAfterMs: 500,
};

/** Empty when it holds; otherwise what keeps it from holding, in words. */
export async function missingOf(condition: Condition, world: WatchedWorld): Promise<string[]> {
  const { reader, faults } = world;
  switch (condition.name) {
    case 'running':
      return notRunning(reader);
    case 'bound':
      return [...reader.list(persistentVolumeClaims)]
        .filter(({ status }) => status?.phase !== 'Bound')
        .map((claim) => `PersistentVolumeClaim ${keyOf(claim)} is not bound`);
    case 'ready':
      return [...reader.list(volumeSnapshots)]
        .filter(({ status }) => status?.readyToUse !== true)
        .map((snapshot) => `VolumeSnapshot ${keyOf(snapshot)} is not ready`);
    case 'resized':
      return [...reader.list(persistentVolumeClaims)]
        .filter((claim) => wantsExpansion(claim))
        .map((claim) => `PersistentVolumeClaim ${keyOf(claim)} has not the size that it asks for`);
    case 'gone':
      return stillThere(reader);
    case 'struck':
      return faults
        .list()
        .filter(({ fault, struck, isSpent }) => !isSpent && (/ (once|\d+x)$/.test(fault) || struck === 0))
        .map(({ fault, struck }) => `the fault "${fault}" has struck ${struck} times`);
    case 'nothing leaked':
      return leaked(world);
    case 'why':
      return saysOtherwise(condition, world);
  }
}

/** What `berth audit` finds now and did not find before. Nothing counts only twice: a call that still runs may leak in a moment. */
async function leaked(world: WatchedWorld, isAgain = false): Promise<string[]> {
  const { before, clock, signal } = world;
  const found = await audit(world, AUDIT_OPTIONS, signal);
  const known = new Set(before.findings.map(({ id }) => id));
  const missing = [
    ...found.findings
      .filter(({ id, severity }) => severity !== 'cost' && !known.has(id))
      .map(({ subject, says, evidence }) => [`${subject}: ${says}`, ...evidence].join('; ')),
    ...obstacles(found).map(({ subject, what }) => `${subject}: ${what}, so that it cannot be judged`),
    ...new Set([...before.problems, ...found.problems]),
  ];
  if (missing.length > 0 || isAgain) return missing;
  await clock.sleep(AUDIT_OPTIONS.confirmAfterMs, signal);
  return leaked(world, true);
}

function notRunning(reader: Reader): string[] {
  const all = [...reader.list(pods)];
  const sets = [...reader.list(statefulSets)].flatMap((set) => {
    const count = all.filter(({ metadata }) =>
      metadata.ownerReferences?.some(({ uid }) => uid === set.metadata.uid),
    ).length;
    const wanted = set.spec?.replicas ?? 1;
    return count < wanted ? [`StatefulSet ${keyOf(set)} has ${count} of ${wanted} pods`] : [];
  });
  return [
    ...sets,
    ...(all.length === 0 && sets.length === 0 ? ['there is no pod'] : []),
    ...all
      .filter(({ status, metadata }) => status?.phase !== 'Running' || metadata.deletionTimestamp)
      .map(
        (pod) => `Pod ${keyOf(pod)} is ${pod.metadata.deletionTimestamp ? 'Terminating' : pod.status?.phase}`,
      ),
  ];
}

const LEAVING: readonly Resource<KubeObject>[] = [
  pods,
  persistentVolumeClaims,
  volumeAttachments,
  persistentVolumes,
  volumeSnapshots,
  volumeSnapshotContents,
] as readonly Resource<KubeObject>[];

const stillThere = (reader: Reader): string[] =>
  LEAVING.flatMap((resource) =>
    [...reader.list(resource)].map((object) => `${resource.kind} ${keyOf(object)} is still there`),
  );

const KINDS: Readonly<Record<string, { kind: ExplainedKind; resource: Resource<KubeObject> }>> = {
  pod: { kind: 'pod', resource: pods as Resource<KubeObject> },
  pvc: { kind: 'claim', resource: persistentVolumeClaims as Resource<KubeObject> },
  snapshot: { kind: 'snapshot', resource: volumeSnapshots as Resource<KubeObject> },
};

/** What `berth why` answers, without what it says about faults: that would contain any text of them. */
async function saysOtherwise({ subject, says = '' }: Condition, world: WatchedWorld): Promise<string[]> {
  const { kube, clock, reader, signal } = world;
  const asked = Object.hasOwn(KINDS, subject?.kind ?? '') ? KINDS[subject?.kind ?? ''] : undefined;
  if (asked === undefined)
    return [`why is asked about ${Object.keys(KINDS).join(', ')}, not ${subject?.kind}`];
  const name = subject?.name ?? '';
  const object = reader.get(asked.resource, { namespace: NAMESPACE, name });
  if (object === undefined) return [`there is no ${subject?.kind}/${name}`];
  const facts = await readFacts(kube, { nowMs: clock.now(), namespace: undefined, signal });
  const culprit = explain(facts, asked.kind, object).find(({ state }) => state !== 'ok');
  const answer = culprit ? `${culprit.subject}: ${culprit.says}` : 'nothing is wrong';
  return answer.includes(says) ? [] : [`why ${subject?.kind}/${name} says: ${answer}`];
}
