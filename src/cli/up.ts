// `berth up`: the whole of Kubernetes' volume subsystem on this machine, in one process. What a newcomer meets first.

import { type DriverSockets, identifyBroughtDriver, parseDriverSockets } from '../cluster/brought-driver.ts';
import { openDashboard } from '../cluster/dashboard.ts';
import { type DataDirectory, defaultDataDirectory, openDataDirectory } from '../cluster/data-directory.ts';
import { clusterControllers, clusterSidecars, sidecarFlags } from '../cluster/parts.ts';
import { planNodes } from '../cluster/plan-nodes.ts';
import { type Cluster, startCluster } from '../cluster/start-cluster.ts';
import { DASHBOARD_PORT, type Dashboard } from '../dashboard/serve-dashboard.ts';
import { boolFlag, flagOf, InvalidValue, intFlag, stringFlag, stringsFlag } from '../runtime/flags/flag.ts';
import { createLog } from '../runtime/log/log.ts';
import { quietLog } from '../runtime/log/quiet-log.ts';
import { checkUser, openTriedMounter } from '../runtime/mount/tried-mounter.ts';
import type { Log } from '../runtime/ports.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { aborted } from '../runtime/time/until-aborted.ts';
import { defineCommand, ExitCode, UsageError } from './command.ts';
import { showStatus, welcome } from './up-output.ts';
import { packageVersion } from './version.ts';

const MOST_NODES = 100;
const VERBOSE = 3;

/** What `--without` can leave out, beside single nodes. */
const parts = [
  'hostpath',
  'nodes',
  'node-registrar',
  'scheduler',
  'snapshot-controller',
  'dashboard',
  ...clusterSidecars.map(({ kind }) => kind.name),
  ...clusterControllers.map(({ name }) => name),
];

export const upFlags = {
  'data-dir': stringFlag({
    help: 'Directory that keeps everything across restarts; /var/lib/berth for root unless given',
  }),
  ephemeral: boolFlag({ help: 'Keep nothing: a directory of its own that is removed at the end' }),
  nodes: intFlag({
    help: 'Nodes to pretend; two share a zone, each is a rack',
    default: 2,
    min: 1,
    max: MOST_NODES,
  }),
  host: stringFlag({ help: 'Address of the API server', default: '127.0.0.1' }),
  port: intFlag({
    help: 'Port of the API server; 0 for any free one',
    default: 0,
    min: 0,
    max: 65_535,
  }),
  'dashboard-port': intFlag({
    help: `Port of the web page, on this machine alone; 0 for any free one. Without it ${DASHBOARD_PORT}, or another when that is taken`,
    default: DASHBOARD_PORT,
    min: 0,
    max: 65_535,
  }),
  kubeconfig: stringFlag({ help: "File for the admin's kubeconfig; in the data directory unless given" }),
  driver: flagOf<readonly DriverSockets[]>(
    {
      type: 'sockets',
      parse(text, previous = []) {
        try {
          return [...previous, parseDriverSockets(text)];
        } catch (error) {
          throw new InvalidValue((error as Error).message);
        }
      },
      format: (value) => value.map(({ controller, nodes }) => [controller, ...nodes].join(',')).join(' '),
    },
    {
      help:
        'A CSI driver of your own that already runs, as unix:///csi.sock; or, where controller and nodes have sockets of ' +
        'their own, as CONTROLLER,NODE-1,NODE-2. May be given several times',
      default: [],
    },
  ),
  'driver-pod-info-mount': boolFlag({
    help: 'Pass information about the pod to NodePublishVolume of the drivers of --driver that have no CSIDriver object yet',
  }),
  'driver-volume-lifecycle-modes': stringsFlag({
    help: 'Modes in which pods may name volumes of those drivers inline: Persistent, Ephemeral or both',
    default: ['Persistent'],
  }),
  'allow-inline-handles': boolFlag({
    help: 'Let pods name existing volumes of the drivers that run here by their handle (spec.volumes[].csi.volumeHandle). Anyone who may create pods can then mount any volume of these drivers',
  }),
  'replace-topology-labels': boolFlag({
    help: 'Replace a topology label of a node that only one driver uses when that driver says something else; otherwise the driver is not registered there',
  }),
  without: stringsFlag({
    help: `Parts to leave out, to run your own build of them instead: ${parts.join(', ')}, or a node`,
    default: [],
  }),
  metrics: boolFlag({
    help: 'Let the parts count what they do, as each would in a process of its own; read with `kubectl get --raw "/berth/metrics?part=provisioner"`',
  }),
  verbose: boolFlag({ help: 'As -v=3: say what the parts do' }),
};

export const command = defineCommand({
  summary:
    'Run everything on this machine: API server, control plane, nodes, sidecars and the hostpath driver',
  description:
    'Prints one line "ready URL" once everything serves, and runs until SIGINT or SIGTERM. Needs root, for mounts. ' +
    'The StorageClasses hostpath and hostpath-delayed are there from the start; where the volumes of a pod are mounted ' +
    'stands in its annotation csi.berth/published-volumes. Flags of the sidecars are given with the name of the sidecar ' +
    'before them, as in --provisioner-strict-topology or --attacher-timeout=1m; `berth sidecars --help` lists them.',
  // Their values are for the sidecars, which know their types.
  flags: { ...upFlags, ...sidecarFlags } as typeof upFlags,
  async run({ flags, given, signal, stdout, stderr, env, ...context }) {
    if (flags.ephemeral && flags.dataDir !== undefined) {
      throw new UsageError('--data-dir and --ephemeral exclude each other');
    }
    const nodes = planNodes(flags.nodes);
    const nodeNames = nodes.map(({ name }) => name);
    checkWithout(flags.without, nodeNames);
    checkModes(flags.driverVolumeLifecycleModes);
    checkUser();
    const version = await packageVersion();
    const startedMs = realClock.monotonicMs();
    const brought = await Promise.all(
      flags.driver.map((sockets) => identifyBroughtDriver(sockets, { nodeNames, clock: realClock, signal })),
    );
    const directory = await openDataDirectory(
      flags.ephemeral ? undefined : (flags.dataDir ?? defaultDataDirectory(env)),
    );
    stdout.write(`berth ${version} starts in ${directory.path}\n`);
    const log = quietLog(
      flags.verbose
        ? createLog({ verbosity: Math.max(flags.v, VERBOSE), format: flags.loggingFormat, clock: realClock })
        : context.log,
    );
    const kubeconfig = flags.kubeconfig ?? directory.kubeconfig;
    let cluster: Cluster;
    try {
      cluster = await startCluster({
        clock: realClock,
        random: realRandom,
        log,
        mounter: await openTriedMounter(directory.path),
        version,
        directory,
        nodes,
        brought,
        ...((given.has('driver-pod-info-mount') || given.has('driver-volume-lifecycle-modes')) && {
          wishes: {
            podInfoOnMount: flags.driverPodInfoMount,
            lifecycleModes: flags.driverVolumeLifecycleModes,
          },
        }),
        sidecarFlags: { values: flags, given },
        without: new Set(flags.without),
        host: flags.host,
        port: flags.port,
        kubeconfig,
        metrics: flags.metrics,
        replaceTopologyLabels: flags.replaceTopologyLabels,
        inlineHandles: flags.allowInlineHandles,
        signal,
      });
    } catch (error) {
      if (directory.isEphemeral) await directory.remove();
      throw startError(error, flags);
    }
    stdout.write(`ready ${cluster.url}\n`);
    const tookMs = realClock.monotonicMs() - startedMs;
    const looking = new AbortController();
    const page = await dashboardOf(cluster, { flags, version, directory, log, signal: looking.signal });
    const { without } = flags;
    stdout.write(welcome({ parts, cluster, page, nodes, kubeconfig, tookMs, without, directory }));
    const unfollow = showStatus(cluster, stdout);
    await aborted(signal);
    unfollow();
    looking.abort(new Error('the cluster stops'));
    await page?.stopped;
    const left = await cluster.stop();
    for (const what of left) stderr.write(`berth up: ${what}\n`);
    return left.length === 0 ? ExitCode.ok : ExitCode.failed;
  },
});

/** Undefined when it is left out. A cluster whose page cannot be served as asked for is stopped again. */
async function dashboardOf(
  cluster: Cluster,
  options: {
    flags: { without: readonly string[]; dashboardPort: number };
    version: string;
    directory: DataDirectory;
    log: Log;
    signal: AbortSignal;
  },
): Promise<Dashboard | undefined> {
  const { flags, ...rest } = options;
  if (flags.without.includes('dashboard')) return undefined;
  const port = flags.dashboardPort;
  try {
    return await openDashboard(cluster, {
      ...rest,
      port,
      isFlexible: port === DASHBOARD_PORT,
      clock: realClock,
      random: realRandom,
    });
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

function checkWithout(names: readonly string[], nodeNames: readonly string[]): void {
  const stranger = names.find((name) => !parts.includes(name) && !nodeNames.includes(name));
  if (stranger === undefined) return;
  throw new UsageError(
    `--without: there is no part ${JSON.stringify(stranger)}, only ${[...parts, ...nodeNames].join(', ')}`,
  );
}

function checkModes(modes: readonly string[]): void {
  const stranger = modes.find((mode) => mode !== 'Persistent' && mode !== 'Ephemeral');
  if (stranger === undefined && modes.length > 0) return;
  throw new UsageError(
    `--driver-volume-lifecycle-modes: ${stranger === undefined ? 'at least one of' : `${JSON.stringify(stranger)} is none of`} Persistent, Ephemeral`,
  );
}

function startError(error: unknown, { port, host }: { port: number; host: string }): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new Error(
      `port ${port} is taken on ${host}; stop what listens there, choose another with --port, or let --port 0 find one`,
    );
  }
  if (code === 'EADDRNOTAVAIL')
    return new Error(`${host} is no address of this machine; give another --host`);
  return error;
}
