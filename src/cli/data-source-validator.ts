// `berth data-source-validator`: a drop-in for the official volume-data-source-validator.

import { createDataSourceValidator } from '../control-plane/data-source-validator/data-source-validator.ts';
import { intFlag } from '../runtime/flags/flag.ts';
import {
  electionTimes,
  endpointFlags,
  kubeconfigFlag,
  leaseFlags,
  paceFlags,
} from '../runtime/process/process-flags.ts';
import { defineCommand } from './command.ts';
import { runControlPlaneProcess } from './control-plane-process.ts';

const { 'leader-election-labels': _ofSidecars, ...electionFlags } = leaseFlags;

export const command = defineCommand({
  summary: 'Warns about claims whose data source nobody populates',
  description:
    'Runs once per cluster. A claim whose dataSourceRef matches no VolumePopulator gets a warning Event instead of waiting in ' +
    'silence. Accepts the flags of the official volume-data-source-validator.',
  flags: {
    kubeconfig: kubeconfigFlag,
    ...paceFlags,
    ...endpointFlags,
    ...electionFlags,
    'worker-threads': intFlag({ help: 'Claims checked concurrently', default: 10, min: 1 }),
  },
  async run(context) {
    const { flags } = context;
    await runControlPlaneProcess(
      {
        name: 'volume-data-source-validator',
        leaseName: 'data-source-validator-leader',
        namespace: flags.leaderElectionNamespace,
        election: flags.leaderElection ? electionTimes(flags) : undefined,
        create: (ports) => createDataSourceValidator(ports, { workers: flags.workerThreads }),
      },
      flags,
      context,
    );
  },
});
