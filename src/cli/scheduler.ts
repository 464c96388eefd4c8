// `berth scheduler`: schedules pods, above all by volume topology, against any API server.

import { createScheduler } from '../control-plane/scheduler/scheduler.ts';
import { stringFlag } from '../runtime/flags/flag.ts';
import { defineCommand } from './command.ts';
import {
  controlPlaneFlags,
  electionOf,
  leaseNameFlag,
  runControlPlaneProcess,
} from './control-plane-process.ts';

export const command = defineCommand({
  summary: 'Schedules pods by the topology of their volumes, capacity, attach limits, requests and taints',
  description:
    'Replaces kube-scheduler for pods with volumes; or runs beside it, for pods that name it in spec.schedulerName, with ' +
    'its own --scheduler-name and --leader-elect-resource-name. Required pod affinity, topology spread with ' +
    'DoNotSchedule, and resource claims are not supported: such pods get an event and stay pending.',
  flags: {
    'scheduler-name': stringFlag({
      help: 'Schedules the pods with this spec.schedulerName',
      default: 'default-scheduler',
    }),
    ...controlPlaneFlags,
    'leader-elect-resource-name': leaseNameFlag('kube-scheduler'),
  },
  async run(context) {
    const { flags } = context;
    const { schedulerName, featureGates: gates, leaderElectResourceName: leaseName } = flags;
    await runControlPlaneProcess(
      {
        name: 'scheduler',
        leaseName,
        ...electionOf(flags),
        create: (ports) => createScheduler({ ...ports, gates, schedulerName }),
      },
      flags,
      context,
    );
  },
});
