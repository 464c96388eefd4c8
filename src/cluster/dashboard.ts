// The page of a cluster on this machine: shows what its own account may read, and what the trace has recorded.

import { readFile, writeFile } from 'node:fs/promises';
import { serviceAccountUser } from '../apiserver/auth/users.ts';
import { actAsViewer } from '../dashboard/act-as.ts';
import { exampleCommand } from '../dashboard/example-command.ts';
import { type Dashboard, newToken, serveDashboard } from '../dashboard/serve-dashboard.ts';
import { COMPONENT_ACCOUNTS } from '../manifests/published-rbac.ts';
import { loadKubeConfig } from '../runtime/kube/load-kube-config.ts';
import type { Clock, Log, Random } from '../runtime/ports.ts';
import type { DataDirectory } from './data-directory.ts';
import { stepSourceOf } from './page-steps.ts';
import type { Cluster } from './start-cluster.ts';

export interface ClusterDashboardOptions {
  readonly directory: DataDirectory;
  readonly version: string;
  /** Named in the command that makes a first volume. */
  readonly kubeconfig: string;
  readonly allowsActions: boolean;
  readonly port: number;
  readonly isFlexible: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export async function openDashboard(cluster: Cluster, options: ClusterDashboardOptions): Promise<Dashboard> {
  const { directory, random, kubeconfig, allowsActions, ...rest } = options;
  const { clock, signal } = options;
  return serveDashboard({
    ...rest,
    log: options.log.with({ part: 'dashboard' }),
    token: await keptToken(directory.dashboardToken, random),
    server: cluster.url,
    example: exampleCommand(`KUBECONFIG=${kubeconfig} npx berth apply -f -`),
    stepSource: stepSourceOf(cluster.book),
    ...(allowsActions && {
      actAs: actAsViewer(await loadKubeConfig({ env: {}, path: kubeconfig }), {
        clock,
        random,
        log: options.log,
      }),
    }),
    ports() {
      const user = serviceAccountUser('kube-system', COMPONENT_ACCOUNTS.dashboard);
      const { kube, informers } = cluster.portsFor({ name: 'dashboard', user, signal });
      informers.start(signal);
      return { kube, informers, clock };
    },
  });
}

async function keptToken(path: string, random: Random): Promise<string> {
  const kept = await readFile(path, 'utf8').catch(() => '');
  if (/^\S{20,}$/.test(kept.trim())) return kept.trim();
  const token = newToken(random);
  await writeFile(path, `${token}\n`, { mode: 0o600 });
  return token;
}
