// The audit at intervals, as gauges: how many findings of each kind there are, what they occupy, and whether the comparison is
// complete. Reads only, and never acts.

import type { CsiTransport } from '../csi/client/transport.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import type { Metrics } from '../runtime/metrics/metrics.ts';
import type { Clock, Log } from '../runtime/ports.ts';
import { type Audit, type AuditOptions, audit } from './audit.ts';
import { FINDING_KINDS, type Finding, type Severity } from './finding.ts';

export interface AuditLoopPorts {
  readonly kube: KubeClient;
  readonly csi: CsiTransport;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly driver: { readonly name: string };
}

const SEVERITIES: readonly Severity[] = ['leak', 'doubt', 'cost'];

export function createAuditLoop(
  ports: AuditLoopPorts,
  options: AuditOptions & { readonly intervalMs: number },
): { run(signal: AbortSignal): Promise<void> } {
  const { clock, log, driver } = ports;
  const gauges = auditGauges(ports.metrics, driver.name);
  /** When each finding was seen first: the age of those that nobody recorded. */
  let firstSeenMs = new Map<string, number>();

  async function once(signal: AbortSignal): Promise<void> {
    const found = await audit(ports, options, signal);
    firstSeenMs = new Map(found.findings.map(({ id }) => [id, firstSeenMs.get(id) ?? found.firstMs]));
    const old = found.findings.filter(
      ({ id, sinceMs }) => found.nowMs - (sinceMs ?? firstSeenMs.get(id) ?? found.nowMs) >= options.minAgeMs,
    );
    gauges.set(found, old, clock.now());
    for (const { id, severity, says } of old)
      if (severity === 'leak') log.warn('The audit found something; see berth audit', { finding: id, says });
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        try {
          await once(signal);
        } catch (error) {
          if (signal.aborted) return;
          gauges.failed();
          log.error('Could not audit, will try again', error, { retryInMs: options.intervalMs });
        }
        await clock.sleep(options.intervalMs, signal).catch(() => {});
      }
    },
  };
}

function auditGauges(metrics: Metrics, driver: string) {
  const findings = metrics.gauge({
    name: 'berth_audit_findings',
    help: 'Findings of the last audit, by kind and severity (leak, doubt, cost).',
    labelNames: ['driver_name', 'kind', 'severity'],
  });
  const bytes = metrics.gauge({
    name: 'berth_audit_bytes',
    help: 'Bytes that the findings of the last audit occupy, by severity.',
    labelNames: ['driver_name', 'severity'],
  });
  const complete = metrics.gauge({
    name: 'berth_audit_complete',
    help: 'Whether the last audit could compare everything that the driver can tell: 1 or 0.',
    labelNames: ['driver_name'],
  });
  const last = metrics.gauge({
    name: 'berth_audit_last_timestamp_seconds',
    help: 'When the last audit ended that did not fail.',
    labelNames: ['driver_name'],
  });
  const driver_name = driver;
  return {
    set({ problems }: Audit, found: readonly Finding[], nowMs: number): void {
      for (const severity of SEVERITIES) {
        const own = found.filter((finding) => finding.severity === severity);
        for (const kind of FINDING_KINDS)
          findings.set(
            { driver_name, kind, severity },
            own.filter((finding) => finding.kind === kind).length,
          );
        const sum = own.reduce((total, finding) => total + (finding.bytes ?? 0n), 0n);
        bytes.set({ driver_name, severity }, Number(sum));
      }
      complete.set({ driver_name }, problems.length === 0 ? 1 : 0);
      last.set({ driver_name }, nowMs / 1000);
    },
    failed: (): void => complete.set({ driver_name }, 0),
  };
}
