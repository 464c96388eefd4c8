// `berth dashboard`: the page for any cluster, from this machine, with the rights of the kubeconfig that is used.

import { DASHBOARD_PORT, newToken, serveDashboard } from '../dashboard/serve-dashboard.ts';
import { intFlag } from '../runtime/flags/flag.ts';
import { runProcess } from '../runtime/process/run-process.ts';
import { defineCommand } from './command.ts';
import { connectionFlags } from './objects/object-flags.ts';
import { findKubeConfig } from './objects/read-lines.ts';
import { processContext } from './process-context.ts';
import { packageVersion } from './version.ts';

export const command = defineCommand({
  summary: 'Shows volumes, pods and nodes of a cluster as a page, and what is stuck and why',
  description:
    'Serves the page on this machine alone and prints its link, which holds the key to it. Only reads, and never ' +
    'Secrets; an account that may do no more is in deploy/rbac/dashboard.yaml. Steps and calls are recorded only by ' +
    '`berth up`, which has a page of its own.',
  flags: {
    ...connectionFlags,
    port: intFlag({
      help: `Port of the page; 0 for any free one. Without it ${DASHBOARD_PORT}, or another when that is taken`,
      default: DASHBOARD_PORT,
      min: 0,
      max: 65_535,
    }),
  },
  async run({ flags, stdout, ...command }) {
    const config = await findKubeConfig(flags, command.env);
    const context = await processContext('dashboard', command);
    const { clock, random, log } = context;
    await runProcess({ config }, context, async ({ kube, signal, informers }) => {
      const dashboard = await serveDashboard({
        version: await packageVersion(),
        server: config.server,
        port: flags.port,
        isFlexible: flags.port === DASHBOARD_PORT,
        token: newToken(random),
        clock,
        log,
        signal,
        ports() {
          const watched = informers();
          watched.start(signal);
          return { kube, informers: watched, clock };
        },
      });
      stdout.write(`ready ${dashboard.url}\nCtrl-C stops it.\n`);
      await dashboard.stopped;
    });
  },
});
