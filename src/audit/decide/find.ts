// From the facts of one look to findings, and from two looks to those that count. Pure.

import type { AuditFacts } from '../facts.ts';
import { FINDING_KINDS, type Finding } from '../finding.ts';
import { indexFacts } from './fact-index.ts';
import { findAttachments } from './find-attachments.ts';
import { findFinalizers } from './find-finalizers.ts';
import { findSnapshots } from './find-snapshots.ts';
import { findVolumes } from './find-volumes.ts';
import type { JudgeOptions } from './options.ts';
import { findUnderWay, type UnderWay } from './under-way.ts';

export interface Look {
  readonly nowMs: number;
  readonly findings: readonly Finding[];
  readonly underWay: readonly UnderWay[];
}

export function judge(facts: AuditFacts, options: JudgeOptions): Look {
  const index = indexFacts(facts);
  const underWay = findUnderWay(index, options);
  const findings = [
    ...findAttachments(index, underWay, options),
    ...findFinalizers(index, options),
    ...findSnapshots(index, options),
    ...findVolumes(index, underWay, options),
  ];
  const rank = ({ kind }: Finding): number => FINDING_KINDS.indexOf(kind);
  return { nowMs: facts.nowMs, underWay, findings: findings.sort((a, b) => rank(a) - rank(b)) };
}

/** Only what both looks found, and found the same, counts: everything else was changing. */
export function confirmed(first: Look, second: Look): Look {
  const before = new Map(first.findings.map((finding) => [finding.id, finding]));
  const findings = second.findings.filter(
    ({ id, fingerprint }) => before.get(id)?.fingerprint === fingerprint,
  );
  return { ...second, findings };
}

/** What keeps a plan from being carried out: what is in flight, without the things that the findings are about. */
export function obstacles({ underWay, findings }: Look): UnderWay[] {
  const judged = new Set(findings.map(({ subject }) => subject));
  return underWay.filter(({ subject }) => !judged.has(subject));
}
