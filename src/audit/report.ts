// An audit as text and as JSON. Pure.

import { formatQuantity, quantityFromBytes } from '../api/quantity.ts';
import type { Audit } from './audit.ts';
import { describeAction, type Finding, type Severity } from './finding.ts';

const SHOWN: Readonly<Record<Severity, string>> = { leak: 'LEAK', doubt: 'DOUBT', cost: 'COST' };

/** How an audit ended, the worst first. */
export type Verdict = 'leaks' | 'doubts' | 'clean';

/** Doubts are also what could not be compared. */
export function verdictOf({
  findings,
  problems,
  limits,
}: Pick<Audit, 'findings' | 'problems' | 'limits'>): Verdict {
  if (findings.some(({ severity }) => severity === 'leak')) return 'leaks';
  return problems.length + limits.length > 0 || findings.some(({ severity }) => severity === 'doubt')
    ? 'doubts'
    : 'clean';
}

export function auditLines(audit: Audit): string[] {
  const { driver, findings, problems, limits, underWay, counts } = audit;
  const count = (number: number | undefined, what: string): string => `${number ?? 'no list of'} ${what}`;
  const ranks: readonly Severity[] = ['leak', 'doubt', 'cost'];
  return [
    `driver ${driver}: ${count(counts.volumes, 'volumes')}, ${count(counts.snapshots, 'snapshots')}; cluster: ` +
      `${counts.persistentVolumes} PersistentVolumes, ${counts.attachments} VolumeAttachments` +
      `${counts.contents === undefined ? '' : `, ${counts.contents} VolumeSnapshotContents`}`,
    ...[...limits, ...problems].map((problem) => `INCOMPLETE  ${problem}`),
    ...findings
      .toSorted((a, b) => ranks.indexOf(a.severity) - ranks.indexOf(b.severity))
      .flatMap((finding) => findingLines(finding, audit)),
    ...(underWay.length === 0 ? [] : [`${underWay.length} things are under way, and are not judged:`]),
    ...underWay.slice(0, MOST_UNDER_WAY).map(({ subject, what }) => `  ${subject}: ${what}`),
    ...(underWay.length > MOST_UNDER_WAY ? [`  and ${underWay.length - MOST_UNDER_WAY} more`] : []),
    summaryOf(findings),
  ];
}

const MOST_UNDER_WAY = 5;

function findingLines(finding: Finding, { firstMs }: Audit): string[] {
  const { severity, subject, says, evidence, action, advice, id, bytes, sinceMs } = finding;
  const size = bytes ? `, ${sizeText(bytes)}` : '';
  const since = severity === 'cost' && sinceMs === undefined ? '' : `, since ${sinceText(sinceMs, firstMs)}`;
  return [
    `${SHOWN[severity]}  ${subject}: ${says}${size}${since}`,
    ...evidence.map((text) => `       ${text}`),
    ...(action ? [`       → would ${describeAction(action)}: berth audit fix ${id}`] : []),
    ...(advice ? [`       → ${advice}`] : []),
  ];
}

const sinceText = (sinceMs: number | undefined, firstMs: number): string =>
  sinceMs === undefined
    ? `an unknown time (first seen ${new Date(firstMs).toISOString()})`
    : new Date(sinceMs).toISOString();

const sizeText = (bytes: bigint): string => formatQuantity(quantityFromBytes(bytes));

function summaryOf(findings: readonly Finding[]): string {
  const parts = (['leak', 'doubt', 'cost'] as const).map((severity) => {
    const all = findings.filter((finding) => finding.severity === severity);
    const bytes = all.reduce((sum, finding) => sum + (finding.bytes ?? 0n), 0n);
    const name = { leak: 'leaked or stale', doubt: 'doubtful', cost: 'released and kept' }[severity];
    return `${all.length} ${name}${bytes > 0n ? ` (${sizeText(bytes)})` : ''}`;
  });
  return parts.join(', ');
}

export function auditJson(audit: Audit): object {
  const { firstMs, nowMs, findings, ...rest } = audit;
  return {
    ...rest,
    verdict: verdictOf(audit),
    firstLookAt: new Date(firstMs).toISOString(),
    secondLookAt: new Date(nowMs).toISOString(),
    findings: findings.map(({ bytes, sinceMs, action, ...finding }) => ({
      ...finding,
      ...(bytes !== undefined && { bytes: String(bytes) }),
      ...(sinceMs !== undefined && { since: new Date(sinceMs).toISOString() }),
      ...(action && { action, does: describeAction(action) }),
    })),
  };
}
