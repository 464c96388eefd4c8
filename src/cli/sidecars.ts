// `berth sidecars`: the sidecars of one driver in one process.

import { createAuditLoop } from '../audit/audit-loop.ts';
import { DEFAULT_JUDGE_OPTIONS } from '../audit/decide/options.ts';
import { boolFlag, durationFlag, InvalidValue, inGroup, stringsFlag } from '../runtime/flags/flag.ts';
import type { FlagValues } from '../runtime/flags/parse-flags.ts';
import { together } from '../runtime/process/together.ts';
import { allSidecars } from '../sidecars/all/all-sidecars.ts';
import { type AnySidecarKind, sharedFlags } from '../sidecars/all/shared-flags.ts';
import { attacherSidecar } from '../sidecars/attacher/attacher-sidecar.ts';
import { clusterRegistrarSidecar } from '../sidecars/cluster-registrar/cluster-registrar-sidecar.ts';
import type { CommonFlagValues } from '../sidecars/common/common-flags.ts';
import { runProgram, type SidecarProgram } from '../sidecars/common/run-sidecar.ts';
import { healthMonitorSidecar } from '../sidecars/health-monitor/health-monitor-sidecar.ts';
import { provisionerSidecar } from '../sidecars/provisioner/provisioner-sidecar.ts';
import { resizerSidecar } from '../sidecars/resizer/resizer-sidecar.ts';
import { snapshotMetadataSidecar } from '../sidecars/snapshot-metadata/snapshot-metadata-sidecar.ts';
import { snapshotterSidecar } from '../sidecars/snapshotter/snapshotter-sidecar.ts';
import { defineCommand } from './command.ts';
import { processContext } from './process-context.ts';

export const sidecarKinds: readonly AnySidecarKind[] = [
  provisionerSidecar,
  attacherSidecar,
  resizerSidecar,
  snapshotterSidecar,
  healthMonitorSidecar,
  snapshotMetadataSidecar,
  clusterRegistrarSidecar,
];
const names = sidecarKinds.map((kind) => kind.name);

/**
 * The CSIDriver object is usually part of a driver's manifests; health is monitored by those who ask for it; snapshot metadata
 * needs a certificate.
 */
export const byRequest: ReadonlySet<string> = new Set([
  clusterRegistrarSidecar.name,
  healthMonitorSidecar.name,
  snapshotMetadataSidecar.name,
]);

const strings = stringsFlag({
  help: `Sidecars to run, of ${names.join(', ')}; default: those whose capabilities the driver has`,
  default: names.filter((name) => !byRequest.has(name)),
});

const auditFlags = inGroup('Audit', {
  'audit-interval': durationFlag({
    help: 'Interval at which the leader audits the driver as `berth audit` does, and publishes berth_audit_findings; 0: never',
    default: 0,
    min: 0,
  }),
  'audit-min-age': durationFlag({
    help: 'What is younger is not counted',
    default: DEFAULT_JUDGE_OPTIONS.minAgeMs,
    min: 0,
  }),
  'audit-exclusive': boolFlag({ help: 'No other cluster uses this storage' }),
});

/** Long enough for a driver with many volumes to list them. */
const AUDIT_TIMEOUT_MS = 60_000;
const AUDIT_CONFIRM_MS = 10_000;

/** The audit runs beside the sidecars of the leader. */
function withAudit(
  program: SidecarProgram,
  values: FlagValues<typeof auditFlags> & { volumeNamePrefix?: string },
): SidecarProgram {
  if (values.auditIntervalMs === 0) return program;
  return {
    ...program,
    create(ports, recorderFor) {
      const { log, namespace } = ports;
      const loop = createAuditLoop(
        { ...ports, log: log.with({ part: 'audit' }) },
        {
          ...DEFAULT_JUDGE_OPTIONS,
          volumeNamePrefix: values.volumeNamePrefix ?? DEFAULT_JUDGE_OPTIONS.volumeNamePrefix,
          intervalMs: values.auditIntervalMs,
          minAgeMs: values.auditMinAgeMs,
          isExclusive: values.auditExclusive,
          timeoutMs: AUDIT_TIMEOUT_MS,
          confirmAfterMs: AUDIT_CONFIRM_MS,
          leaseNamespace: namespace,
        },
      );
      return together([program.create(ports, recorderFor), loop]);
    },
  };
}

export const command = defineCommand({
  summary: 'Runs the sidecars of one CSI driver in one process',
  description:
    'One connection to the driver, one set of informers, one lease. A flag applies to every sidecar that has it; ' +
    'prefixed with the name of a sidecar (--attacher-timeout) it applies to that one only.',
  flags: {
    controllers: {
      ...strings,
      parse(text: string, previous: readonly string[] | undefined) {
        const chosen = strings.parse(text, previous);
        const stranger = chosen.find((name) => !names.includes(name));
        if (stranger !== undefined)
          throw new InvalidValue(`there is no sidecar "${stranger}", only ${names.join(', ')}`);
        return chosen;
      },
    },
    ...auditFlags,
    ...sharedFlags(sidecarKinds),
  },
  async run(context) {
    const { given } = context;
    const values = context.flags as unknown as CommonFlagValues & { controllers: readonly string[] };
    const chosen = sidecarKinds.filter((kind) => values.controllers.includes(kind.name));
    const program = withAudit(
      allSidecars({ kinds: chosen, values: values as never, given }),
      values as never,
    );
    // On a shared command line only the feature gates that were given have a value.
    const featureGates = Object.assign({ ReleaseLeaderElectionOnExit: true }, values.featureGates);
    await runProgram(program, { ...values, featureGates }, await processContext('sidecars', context));
  },
});
