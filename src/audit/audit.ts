// One audit of one driver: looks twice, and reports what was the same both times. Reads only.

import type { CsiTransport } from '../csi/client/transport.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import type { Clock } from '../runtime/ports.ts';
import { confirmed, judge, type Look } from './decide/find.ts';
import type { JudgeOptions } from './decide/options.ts';
import type { UnderWay } from './decide/under-way.ts';
import type { AuditFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { readCluster } from './gather/read-cluster.ts';
import { knowsSnapshot, knowsVolume, readStorage } from './gather/read-storage.ts';

export interface AuditPorts {
  readonly kube: KubeClient;
  readonly csi: CsiTransport;
  readonly clock: Clock;
}

export interface AuditOptions extends JudgeOptions {
  /** Of each call to the driver. */
  readonly timeoutMs: number;
  /** Between the two looks. */
  readonly confirmAfterMs: number;
  /** Where provisioners keep their records; all namespaces unless given. */
  readonly leaseNamespace?: string | undefined;
}

export interface Audit {
  readonly driver: string;
  /** UID of the cluster. */
  readonly cluster: string;
  /** When the first and the second look began. */
  readonly firstMs: number;
  readonly nowMs: number;
  readonly findings: readonly Finding[];
  readonly underWay: readonly UnderWay[];
  /** What the driver cannot tell. */
  readonly limits: readonly string[];
  /** What could not be read, or not be trusted: nothing is acted on then. */
  readonly problems: readonly string[];
  readonly counts: {
    readonly volumes: number | undefined;
    readonly snapshots: number | undefined;
    readonly persistentVolumes: number;
    readonly attachments: number;
    readonly contents: number | undefined;
  };
}

export async function readFacts(
  { kube, csi, clock }: AuditPorts,
  { timeoutMs, leaseNamespace }: Pick<AuditOptions, 'timeoutMs' | 'leaseNamespace'>,
  signal: AbortSignal,
): Promise<AuditFacts> {
  const nowMs = clock.now();
  // The storage first: a volume that is listed then has its PersistentVolume, or its claim in progress, afterwards.
  const storage = await readStorage({ csi, timeoutMs, signal });
  const cluster = await readCluster({ kube, driver: storage.driver, leaseNamespace, signal });
  return { nowMs, storage, cluster };
}

/** `progress` hears what is being done. */
export async function audit(
  ports: AuditPorts,
  options: AuditOptions,
  signal: AbortSignal,
  progress: (text: string) => void = () => {},
): Promise<Audit> {
  progress('looking at the storage and the cluster');
  const first = await firstLook(ports, options, signal);
  if ('driver' in first) return first;
  progress(`${first.findings.length} suspects; looking again in ${options.confirmAfterMs / 1000} s`);
  await ports.clock.sleep(options.confirmAfterMs, signal);
  const facts = await readFacts(ports, options, signal);
  const look = confirmed(first, judge(facts, options));
  const { findings, problems } = await askAgain(ports, options, facts, look.findings, signal);
  return auditOf(facts, { ...look, findings }, first.nowMs, problems);
}

/** Keeps no facts: those of ten thousand volumes need not be in memory twice. */
async function firstLook(
  ports: AuditPorts,
  options: AuditOptions,
  signal: AbortSignal,
): Promise<Look | Audit> {
  const facts = await readFacts(ports, options, signal);
  const look = judge(facts, options);
  return look.findings.length === 0 ? auditOf(facts, look, facts.nowMs) : look;
}

function auditOf(
  { storage, cluster, nowMs }: AuditFacts,
  { findings, underWay }: Look,
  firstMs: number,
  more: readonly string[] = [],
): Audit {
  const unread = cluster.unread.map((kind) => `this account cannot read ${kind}`);
  return {
    driver: storage.driver,
    cluster: cluster.cluster,
    firstMs,
    nowMs,
    findings,
    underWay,
    limits: storage.limits,
    problems: [...storage.problems, ...unread, ...more],
    counts: {
      volumes: storage.volumes?.size,
      snapshots: storage.snapshots?.size,
      persistentVolumes: cluster.volumes.length,
      attachments: cluster.attachments.length,
      contents: cluster.contents?.length,
    },
  };
}

/** The driver is asked for each thing that it does not list: if it knows it, the list is wrong and not the cluster. */
async function askAgain(
  { csi }: AuditPorts,
  { timeoutMs }: AuditOptions,
  { storage, cluster }: AuditFacts,
  findings: readonly Finding[],
  signal: AbortSignal,
): Promise<{ findings: Finding[]; problems: string[] }> {
  const reader = { csi, timeoutMs, signal };
  const handles = new Map(
    [...cluster.volumes, ...(cluster.contents ?? [])].map(({ uid, handle }) => [uid, handle]),
  );
  const kept: Finding[] = [];
  const problems: string[] = [];
  for (const finding of findings) {
    const handle = handles.get(finding.fingerprint.split(' ')[0] ?? '') ?? '';
    let known: boolean | undefined;
    if (finding.kind === 'volume-missing') known = await knowsVolume(reader, storage.can, handle);
    else if (finding.kind === 'snapshot-missing' && handle !== '')
      known = await knowsSnapshot(reader, handle);
    if (known === true)
      problems.push(`the driver does not list ${handle}, and says that it exists: its list is not complete`);
    else if (known === false)
      kept.push({
        ...finding,
        evidence: [...finding.evidence, 'asked for it alone, the driver does not find it'],
      });
    else kept.push(finding);
  }
  return { findings: kept, problems };
}
