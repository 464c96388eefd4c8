// `berth dashboard`: the page for any cluster, from this machine, with the rights of the kubeconfig that is used.

import { DASHBOARD_PORT, newToken, serveDashboard } from '../dashboard/serve-dashboard.ts';
import { intFlag } from '../runtime/flags/flag.ts';
import { createInformers } from '../runtime/informer/create-informers.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { defineCommand } from './command.ts';
import { connectionFlags } from './objects/object-flags.ts';
import { openClient } from './objects/open-client.ts';
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
  async run({ flags, env, log, signal, stdout }) {
    await using client = await openClient({ flags, env, log });
    const { kube } = client;
    const clock = realClock;
    const dashboard = await serveDashboard({
      version: await packageVersion(),
      server: client.server,
      port: flags.port,
      isFlexible: flags.port === DASHBOARD_PORT,
      token: newToken(realRandom),
      clock,
      log,
      signal,
      ports() {
        const informers = createInformers({ kube, clock, random: realRandom, log, ownsObjects: true });
        informers.start(signal);
        return { kube, informers, clock };
      },
    });
    stdout.write(`ready ${dashboard.url}\nCtrl-C stops it.\n`);
    await dashboard.stopped;
  },
});
