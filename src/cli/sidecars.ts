// `berth sidecars`: the sidecars of one driver in one process.

import { InvalidValue, stringsFlag } from '../runtime/flags/flag.ts';
import { allSidecars } from '../sidecars/all/all-sidecars.ts';
import { type AnySidecarKind, sharedFlags } from '../sidecars/all/shared-flags.ts';
import { attacherSidecar } from '../sidecars/attacher/attacher-sidecar.ts';
import { clusterRegistrarSidecar } from '../sidecars/cluster-registrar/cluster-registrar-sidecar.ts';
import type { CommonFlagValues } from '../sidecars/common/common-flags.ts';
import { runProgram } from '../sidecars/common/run-sidecar.ts';
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
    ...sharedFlags(sidecarKinds),
  },
  async run(context) {
    const { given } = context;
    const values = context.flags as unknown as CommonFlagValues & { controllers: readonly string[] };
    const chosen = sidecarKinds.filter((kind) => values.controllers.includes(kind.name));
    const program = allSidecars({ kinds: chosen, values: values as never, given });
    // On a shared command line only the feature gates that were given have a value.
    const featureGates = Object.assign({ ReleaseLeaderElectionOnExit: true }, values.featureGates);
    await runProgram(program, { ...values, featureGates }, await processContext('sidecars', context));
  },
});
