// `berth scheduler`: gives pods their nodes, by volume topology first of all, against any API server.

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
  summary:
    'Gives pods their nodes: by the topology of their volumes, capacity, attach limits, requests and taints',
  description:
    'What kube-scheduler does for pods with volumes, in its place; or beside it, for pods that name it in ' +
    'spec.schedulerName, with a --scheduler-name and a --leader-elect-resource-name of its own. Required pod ' +
    'affinity, topology spread that forbids, and resource claims are not supported: such pods are told so and wait.',
  flags: {
    'scheduler-name': stringFlag({
      help: 'Pods that name this scheduler are its own',
      default: 'default-scheduler',
    }),
    ...controlPlaneFlags,
    'leader-elect-resource-name': leaseNameFlag('kube-scheduler'),
  },
  async run(context) {
    const { flags } = context;
    const { schedulerName, leaderElectResourceName: leaseName } = flags;
    await runControlPlaneProcess(
      {
        name: 'scheduler',
        leaseName,
        ...electionOf(flags),
        create: (ports) => createScheduler({ ...ports, schedulerName }),
      },
      flags,
      context,
    );
  },
});
