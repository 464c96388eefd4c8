// Everything in the cluster that is not well, one entry per cause, the worst first. Pure.

import type { PersistentVolume, Pod, PodVolume } from '../api/kinds.ts';
import { type KubeObject, keyOf } from '../api/object.ts';
import type { NodeName } from '../csi/names/driver-name.ts';
import type { Link, Trouble } from './chain.ts';
import { type ExplainedKind, explain } from './explain.ts';
import { isReady, nodeNamed } from './fact-index.ts';
import type { Facts } from './facts.ts';

const KIND_NAMES: Readonly<Record<ExplainedKind, string>> = {
  pod: 'Pod',
  claim: 'PersistentVolumeClaim',
  volume: 'PersistentVolume',
  snapshot: 'VolumeSnapshot',
  group: 'VolumeGroupSnapshot',
  node: 'Node',
  driver: 'CSIDriver',
  class: 'StorageClass',
};
/** The order in which affected objects are listed and entries are ranked: workloads first. */
const KINDS = Object.keys(KIND_NAMES) as ExplainedKind[];

/** An object that is not well, and the first link of its chain that is not. */
export interface Culprit {
  readonly kind: ExplainedKind;
  readonly object: KubeObject;
  readonly link: Link;
}

interface Found {
  readonly culprit: Link;
  readonly affects: string[];
  /** Of the first affected object: its kind's place in the order. */
  readonly rank: number;
}

export const findTroubles = (facts: Facts): Trouble[] => groupByCause(findCulprits(facts));

/** Each object that is not well. Pods first, then claims, volumes and what they depend on. */
export function findCulprits(facts: Facts): Culprit[] {
  return KINDS.flatMap((kind) =>
    objectsOf(facts, kind).flatMap((object) => {
      if (isPlainlyWell(facts, kind, object)) return [];
      const link = explain(facts, kind, object).find(({ state }) => state !== 'ok');
      return link === undefined ? [] : [{ kind, object, link }];
    }),
  );
}

/** One entry a cause, the worst first. */
export function groupByCause(culprits: readonly Culprit[]): Trouble[] {
  const byCause = new Map<string, Found>();
  for (const { kind, object, link } of culprits) {
    const cause = link.cause ?? `${link.subject} ${link.says}`;
    const affected = nameOfObject(kind, object);
    const known = byCause.get(cause);
    if (known === undefined)
      byCause.set(cause, { culprit: link, affects: [affected], rank: KINDS.indexOf(kind) });
    else known.affects.push(affected);
  }
  return [...byCause.values()].toSorted(worstFirst).map(({ culprit, affects }) => ({
    state: culprit.state === 'stuck' ? 'stuck' : 'waits',
    subject: culprit.subject,
    says: culprit.says,
    todo: culprit.todo,
    said: culprit.said,
    affects,
  }));
}

/** `PersistentVolumeClaim default/data`, as affected objects are named. */
export const nameOfObject = (kind: ExplainedKind, object: KubeObject): string =>
  `${KIND_NAMES[kind]} ${keyOf(object)}`;

function worstFirst(a: Found, b: Found): number {
  const isStuck = (found: Found): number => (found.culprit.state === 'stuck' ? 0 : 1);
  return isStuck(a) - isStuck(b) || a.rank - b.rank || b.affects.length - a.affects.length;
}

function objectsOf(facts: Facts, kind: ExplainedKind): readonly KubeObject[] {
  return {
    pod: facts.pods,
    claim: facts.claims,
    volume: facts.volumes,
    snapshot: facts.snapshots ?? [],
    group: facts.groups ?? [],
    node: facts.nodes,
    driver: facts.drivers,
    class: facts.classes,
  }[kind];
}

/** Without explaining it, which reads everything related. */
function isPlainlyWell(facts: Facts, kind: ExplainedKind, object: KubeObject): boolean {
  if (object.metadata.deletionTimestamp !== undefined) return false;
  if (kind === 'volume') {
    const { phase } = (object as PersistentVolume).status ?? {};
    return phase === 'Bound' || phase === 'Available';
  }
  if (kind !== 'pod') return false;
  const { spec, status } = object as Pod;
  // Pods without volumes have other troubles, which are not explained here.
  if (!(spec.volumes ?? []).some(canFail)) return true;
  if (status?.phase !== 'Running') return status?.phase === 'Succeeded';
  const node = nodeNamed(facts, spec.nodeName as NodeName | undefined);
  return node !== undefined && isReady(node);
}

/** Every pod has a volume with its account's token. */
const canFail = ({ persistentVolumeClaim, ephemeral, csi, configMap, secret }: PodVolume): boolean =>
  Boolean(persistentVolumeClaim ?? ephemeral ?? csi ?? configMap ?? secret);
