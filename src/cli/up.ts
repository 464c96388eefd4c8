// `berth up`: Kubernetes' whole volume subsystem on this machine, in one process.

import { bringDrivers } from '../cluster/bring-drivers.ts';
import { PROGRAM_NAMES } from '../cluster/control-plane-part.ts';
import { openDashboard } from '../cluster/dashboard.ts';
import { type DataDirectory, defaultDataDirectory, openDataDirectory } from '../cluster/data-directory.ts';
import { clusterControllers, clusterSidecars, sidecarFlags } from '../cluster/parts.ts';
import { type Cluster, startCluster } from '../cluster/start-cluster.ts';
import { DASHBOARD_PORT, type Dashboard } from '../dashboard/serve-dashboard.ts';
import { openRecorder } from '../recording/recorder.ts';
import { boolFlag, choiceFlag, intFlag, stringFlag, stringsFlag } from '../runtime/flags/flag.ts';
import { bothLogs } from '../runtime/log/both-logs.ts';
import { createLog } from '../runtime/log/log.ts';
import { quietLog } from '../runtime/log/quiet-log.ts';
import { checkUser, openTriedMounter } from '../runtime/mount/tried-mounter.ts';
import type { Log } from '../runtime/ports.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { aborted } from '../runtime/time/until-aborted.ts';
import { LogBook } from '../trace/log-book.ts';
import { defineCommand, ExitCode, UsageError } from './command.ts';
import { checkRootlessDrivers, driverFlags, nodesOfDrivers } from './driver-flags.ts';
import { nodeFlags } from './node-flags.ts';
import { enterNamespace, rootlessFlag } from './rootless.ts';
import { kubeletFlags, nodesAndKubelet } from './up-kubelet.ts';
import { showStatus, welcome } from './up-output.ts';
import { packageVersion } from './version.ts';

const MOST_NODES = 100;
const VERBOSE = 3;
/** Flags about the CSIDriver objects of brought drivers. */
const WISHES = ['driver-pod-info-mount', 'driver-volume-lifecycle-modes', 'driver-fs-group-policy'];

/** The parts that `--without` accepts, beside single nodes. */
const parts = [
  'hostpath',
  'nodes',
  'node-registrar',
  'scheduler',
  ...PROGRAM_NAMES,
  'dashboard',
  ...clusterSidecars.map(({ kind }) => kind.name),
  ...clusterControllers.map(({ name }) => name),
];

const upFlags = {
  'data-dir': stringFlag({
    help: 'Directory of all state, kept across restarts; default /var/lib/berth for root',
  }),
  ephemeral: boolFlag({ help: 'Keep nothing: use a temporary directory that is removed at the end' }),
  nodes: intFlag({
    help: 'Number of simulated nodes; two share a zone, each is its own rack. With your own driver, default as many as it is on',
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
    help: `Port of the dashboard, on this machine only; 0 for any free one. Default ${DASHBOARD_PORT}, or another when that is in use`,
    default: DASHBOARD_PORT,
    min: 0,
    max: 65_535,
  }),
  'allow-actions': boolFlag({
    help: 'Lets viewers of the dashboard delete stuck attachments and retry at once, each with a token of their own',
  }),
  kubeconfig: stringFlag({ help: "File for the admin's kubeconfig; default: in the data directory" }),
  ...driverFlags,
  'driver-pod-info-mount': boolFlag({
    help: 'Pass pod information to NodePublishVolume, for drivers of --driver without a CSIDriver object',
  }),
  'driver-volume-lifecycle-modes': stringsFlag({
    help: 'Volume lifecycle modes of those drivers: Persistent, Ephemeral or both',
    default: ['Persistent'],
  }),
  'driver-fs-group-policy': choiceFlag({
    help: "When a pod's fsGroup is applied to volumes of those drivers",
    choices: ['ReadWriteOnceWithFSType', 'File', 'None'],
    default: 'ReadWriteOnceWithFSType',
  }),
  'allow-inline-handles': boolFlag({
    help: 'Let pods name existing volumes of the drivers that run here by their handle (spec.volumes[].csi.volumeHandle). Anyone who may create pods can then mount any volume of these drivers',
  }),
  'replace-topology-labels': boolFlag({
    help: 'When a driver reports another topology than the label of the node, replace the label if only that driver uses it; otherwise the driver is not registered there',
  }),
  ...nodeFlags,
  without: stringsFlag({
    help: `Parts to omit, to run your own build of them instead: ${parts.join(', ')}, or a node`,
    default: [],
  }),
  metrics: boolFlag({
    help: 'Collect the metrics of each part, as in a separate process; read with `kubectl get --raw "/berth/metrics?part=provisioner"`',
  }),
  record: stringFlag({
    help: 'File for a recording of all calls to drivers, without secrets; must not exist. Calls of a kubelet are not in it',
  }),
  ...kubeletFlags,
  rootless: rootlessFlag,
  verbose: boolFlag({ help: 'As -v=3: log what the parts do' }),
};

export const command = defineCommand({
  summary:
    'Runs everything on this machine: API server, control plane, nodes, sidecars and the hostpath driver',
  description:
    'Prints one line "ready URL" once everything serves, and runs until SIGINT or SIGTERM. Needs root, for mounts, or ' +
    '--rootless. It creates the StorageClasses hostpath and hostpath-delayed; with --driver or --exec also two for your driver, the first ' +
    'of which is the default. The pod annotation csi.berth/published-volumes lists ' +
    'the mount paths of its volumes. Flags of a sidecar are prefixed with its name, as in ' +
    '--provisioner-strict-topology or --attacher-timeout=1m; `berth sidecars --help` lists them.',
  // Passed on unparsed: the sidecars know the types of their flags.
  flags: { ...upFlags, ...sidecarFlags } as typeof upFlags,
  async run({ flags, given, argv, signal, stdout, stderr, env, ...context }) {
    if (flags.ephemeral && flags.dataDir !== undefined) {
      throw new UsageError('--data-dir and --ephemeral exclude each other');
    }
    if (flags.rootless) {
      if (flags.kubelet !== false)
        throw new UsageError('--rootless and --kubelet exclude each other: a kubelet needs root');
      checkRootlessDrivers(flags);
      enterNamespace(env);
    }
    const count = given.has('nodes') ? flags.nodes : (nodesOfDrivers(flags) ?? flags.nodes);
    const { nodes, kubelet } = await nodesAndKubelet({ flags: { ...flags, nodes: count }, given, env });
    const nodeNames = nodes.map(({ name }) => name);
    checkWithout(flags.without, nodeNames);
    checkModes(flags.driverVolumeLifecycleModes);
    checkUser();
    const version = await packageVersion();
    const startedMs = realClock.monotonicMs();
    const log = quietLog(
      flags.verbose
        ? createLog({
            verbosity: Math.max(flags.v, VERBOSE),
            format: flags.loggingFormat,
            clock: realClock,
            stream: stderr,
          })
        : context.log,
    );
    const logs = new LogBook(realClock);
    const ports = { clock: realClock, random: realRandom, signal };
    const recorder = flags.record
      ? await openRecorder({ path: flags.record, by: `berth ${version}`, clock: realClock, log })
      : undefined;
    // Before the data directory: a driver that is not there leaves nothing behind.
    const brought = await bringDrivers({
      ...ports,
      sockets: flags.driver,
      commands: flags.exec,
      nodeNames,
      log: bothLogs(log, logs.log),
    }).catch(async (error: unknown) => {
      await recorder?.discard();
      throw error;
    });
    const directory = await openDataDirectory(
      flags.ephemeral ? undefined : (flags.dataDir ?? defaultDataDirectory(env)),
    ).catch(async (error: unknown) => {
      await brought.stop();
      await recorder?.discard();
      throw error;
    });
    stdout.write(`berth ${version} starts in ${directory.path}\n`);
    const kubeconfig = flags.kubeconfig ?? directory.kubeconfig;
    let cluster: Cluster;
    try {
      const mounter = await openTriedMounter(directory.path);
      cluster = await startCluster({
        ...ports,
        log,
        logs,
        mounter,
        version,
        commandLine: argv,
        directory,
        nodes,
        ...(kubelet && { kubelet }),
        brought: brought.drivers,
        classParameters: flags.classParameters,
        ...(WISHES.some((flag) => given.has(flag)) && {
          wishes: {
            podInfoOnMount: flags.driverPodInfoMount,
            lifecycleModes: flags.driverVolumeLifecycleModes,
            fsGroupPolicy: flags.driverFsGroupPolicy,
          },
        }),
        sidecarFlags: { values: flags, given },
        without: new Set(flags.without),
        host: flags.host,
        port: flags.port,
        kubeconfig,
        metrics: flags.metrics,
        replaceTopologyLabels: flags.replaceTopologyLabels,
        volumeStatsAggPeriodMs: flags.volumeStatsAggPeriodMs,
        gates: flags.featureGates,
        inlineHandles: flags.allowInlineHandles,
        isRootless: flags.rootless,
        ...(recorder && { recorder }),
      });
    } catch (error) {
      await brought.stop();
      await recorder?.close();
      if (directory.isEphemeral) await directory.remove();
      throw startError(error, flags);
    }
    stdout.write(`ready ${cluster.url}\n`);
    const tookMs = realClock.monotonicMs() - startedMs;
    const looking = new AbortController();
    const page = await dashboardOf(cluster, {
      flags,
      version,
      directory,
      kubeconfig,
      log,
      signal: looking.signal,
    }).catch(async (error: unknown) => {
      await cluster.stop().finally(() => brought.stop());
      throw error;
    });
    const { without } = flags;
    const { rootless } = flags;
    stdout.write(
      welcome({ parts, cluster, page, nodes, kubelet, kubeconfig, tookMs, without, directory, rootless }),
    );
    const unfollow = showStatus(cluster, stdout);
    await aborted(signal);
    unfollow();
    if (stdout.isTTY) stdout.write('stopping: pods end, volumes are unmounted\n');
    looking.abort(new Error('the cluster is stopping'));
    await page?.stopped;
    const left = await cluster.stop().finally(() => brought.stop());
    await recorder?.close();
    for (const what of left) stderr.write(`berth up: ${what}\n`);
    return left.length === 0 ? ExitCode.ok : ExitCode.failed;
  },
});

/** Undefined with `--without dashboard`. */
async function dashboardOf(
  cluster: Cluster,
  options: {
    flags: { without: readonly string[]; dashboardPort: number; allowActions: boolean };
    version: string;
    directory: DataDirectory;
    kubeconfig: string;
    log: Log;
    signal: AbortSignal;
  },
): Promise<Dashboard | undefined> {
  const { flags, ...rest } = options;
  if (flags.without.includes('dashboard')) return undefined;
  const port = flags.dashboardPort;
  return openDashboard(cluster, {
    ...rest,
    port,
    isFlexible: port === DASHBOARD_PORT,
    allowsActions: flags.allowActions,
    clock: realClock,
    random: realRandom,
  });
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
    `--driver-volume-lifecycle-modes: ${stranger === undefined ? 'at least one of' : `${JSON.stringify(stranger)} is not one of`} Persistent, Ephemeral`,
  );
}

function startError(error: unknown, { port, host }: { port: number; host: string }): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new Error(
      `port ${port} is in use on ${host}; stop the process that listens there, choose another --port, or use --port 0 for a free one`,
    );
  }
  if (code === 'EADDRNOTAVAIL')
    return new Error(`${host} is not an address of this machine; give another --host`);
  return error;
}
