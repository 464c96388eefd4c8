// Everything in the cluster that is not well, one entry a cause, the worst first. Pure.

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
/** The order in which affected objects are listed and entries are ranked: what runs for somebody first. */
const KINDS = Object.keys(KIND_NAMES) as ExplainedKind[];

interface Found {
  readonly culprit: Link;
  readonly affects: string[];
  /** Of the first affected object: its kind's place in the order. */
  readonly rank: number;
}

export function findTroubles(facts: Facts): Trouble[] {
  const byCause = new Map<string, Found>();
  for (const [rank, kind] of KINDS.entries()) {
    for (const object of objectsOf(facts, kind)) {
      if (isPlainlyWell(facts, kind, object)) continue;
      const culprit = explain(facts, kind, object).find(({ state }) => state !== 'ok');
      if (culprit === undefined) continue;
      const cause = culprit.cause ?? `${culprit.subject} ${culprit.says}`;
      const affected = `${KIND_NAMES[kind]} ${keyOf(object)}`;
      const known = byCause.get(cause);
      if (known === undefined) byCause.set(cause, { culprit, affects: [affected], rank });
      else known.affects.push(affected);
    }
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
