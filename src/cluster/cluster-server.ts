// The API server of a cluster on this machine: opened on the data directory, with the trace, logs, metrics and command line at
// paths of its own, and a kubeconfig for each part that somebody else runs.

import { nodeUser, serviceAccountUser } from '../apiserver/auth/users.ts';
import { type ApiServer, createApiServer, DEFAULT_NODE_LABEL_PREFIXES } from '../apiserver/index.ts';
import { FAULTS_PATH } from '../faults/faults-path.ts';
import { COMPONENT_ACCOUNTS, type RbacComponent } from '../manifests/published-rbac.ts';
import type { PathHandler } from '../runtime/process/path-handler.ts';
import type { LogBook } from '../trace/log-book.ts';
import { LOGS_PATH, logsPath } from '../trace/logs-path.ts';
import type { TraceBook } from '../trace/trace-book.ts';
import { TRACE_PATH, tracePath } from '../trace/trace-path.ts';
import type { ClusterFaults } from './cluster-faults.ts';
import type { DataDirectory } from './data-directory.ts';
import { METRICS_PATH, metricsPath, type PartMetrics } from './part-metrics.ts';
import type { PlannedNode } from './plan-nodes.ts';
import type { ClusterOptions } from './start-cluster.ts';

/** The arguments of the process, each as JSON in a line. */
export const COMMAND_LINE_PATH = '/berth/command-line';

/** Length of the watch history: watchers are local and never far behind, and memory is a laptop's. */
const HISTORY = { maxChanges: 1_000, maxBytes: 2 * 1024 * 1024 };

interface Served {
  readonly book: TraceBook;
  readonly logs: LogBook;
  readonly metrics: PartMetrics | undefined;
  readonly faults: ClusterFaults;
}

/** `certificateHosts`: where the server will listen beside its host. */
export async function openServer(
  options: ClusterOptions,
  served: Served,
  certificateHosts: readonly string[] = [],
): Promise<ApiServer> {
  const { clock, random, directory, host, port, kubeconfig, brought, without } = options;
  const server = await createApiServer({
    clock,
    random,
    log: options.log.with({ part: 'apiserver' }),
    host,
    certificateHosts,
    port,
    kubeconfigPath: kubeconfig,
    ...(!directory.isEphemeral && { dataDir: directory.apiserver }),
    admission: {
      nodeLabelPrefixes: [
        ...DEFAULT_NODE_LABEL_PREFIXES,
        // Its nodes will carry exactly these.
        ...brought.flatMap(({ topologyKeys }) => topologyKeys),
      ],
    },
    history: HISTORY,
    paths: {
      [TRACE_PATH]: tracePath(served.book),
      [LOGS_PATH]: logsPath(served.logs),
      [METRICS_PATH]: metricsPath(served.metrics),
      [FAULTS_PATH]: served.faults.path,
      [COMMAND_LINE_PATH]: commandLinePath(options.commandLine ?? []),
    },
  });
  try {
    await writePartKubeconfigs(server, directory, without, options.nodes);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

function commandLinePath(given: readonly string[]): PathHandler {
  return async ({ response }) => {
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson; charset=utf-8' });
    response.end(given.map((argument) => `${JSON.stringify(argument)}\n`).join(''));
  };
}

/** A part that runs outside the cluster's process gets that part's account and rights. */
async function writePartKubeconfigs(
  server: ApiServer,
  directory: DataDirectory,
  without: ReadonlySet<string>,
  nodes: readonly PlannedNode[],
): Promise<void> {
  const users = [...without].flatMap((part) => {
    if (part in COMPONENT_ACCOUNTS) {
      const user = serviceAccountUser('kube-system', COMPONENT_ACCOUNTS[part as RbacComponent]);
      return [{ part, user }];
    }
    if (part === 'scheduler') return [{ part, user: { name: 'system:kube-scheduler', groups: [] } }];
    return nodes
      .filter(({ name }) => part === 'nodes' || part === name)
      .map(({ name }) => ({ part: name, user: nodeUser(name) }));
  });
  for (const { part, user } of users) await server.keepKubeconfig(directory.partKubeconfig(part), user);
}
