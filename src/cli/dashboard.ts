// `berth dashboard`: the dashboard for any cluster, served from this machine with the rights of the kubeconfig.

import { actAsViewer } from '../dashboard/act-as.ts';
import { exampleCommand } from '../dashboard/example-command.ts';
import { DASHBOARD_PORT, newToken, serveDashboard } from '../dashboard/serve-dashboard.ts';
import { boolFlag, intFlag } from '../runtime/flags/flag.ts';
import { runProcess } from '../runtime/process/run-process.ts';
import { defineCommand } from './command.ts';
import { connectionFlags } from './objects/object-flags.ts';
import { findKubeConfig } from './objects/read-lines.ts';
import { processContext } from './process-context.ts';
import { packageVersion } from './version.ts';

export const command = defineCommand({
  summary: 'Serves a web page with the volumes, pods and nodes of a cluster, what is stuck and why',
  description:
    'Serves on this machine only and prints the link, which contains an access token. Read-only unless --allow-actions, and never reads Secrets; ' +
    'deploy/rbac/dashboard.yaml has an account with just these rights. Only `berth up`, which serves its own page, ' +
    'records steps and calls.',
  flags: {
    ...connectionFlags,
    'allow-actions': boolFlag({
      help: 'Lets viewers delete stuck attachments and retry at once, each with a token of their own',
    }),
    port: intFlag({
      help: `Port of the page; 0 for any free one. Default ${DASHBOARD_PORT}, or another when that is in use`,
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
        example: exampleCommand('kubectl apply -f -'),
        port: flags.port,
        isFlexible: flags.port === DASHBOARD_PORT,
        token: newToken(random),
        clock,
        log,
        signal,
        ...(flags.allowActions && { actAs: actAsViewer(config, { clock, random, log }) }),
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
