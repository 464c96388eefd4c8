// `berth node`: the volume half of a kubelet as a separate process. Without root it re-executes itself as root of a new
// user and mount namespace.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { connectCsi } from '../csi/client/connect-csi.ts';
import { operationMetrics } from '../csi/client/operation-metrics.ts';
import { diskFiles } from '../csi-plugin/mount/disk-files.ts';
import { createNodeAgent } from '../node/node-agent.ts';
import { hostFacts } from '../node/node-object/host-facts.ts';
import { hostSELinux } from '../node/selinux/host-selinux.ts';
import { boolFlag, mapFlag, stringFlag } from '../runtime/flags/flag.ts';
import { openTriedMounter } from '../runtime/mount/tried-mounter.ts';
import { kubeConfigOf, kubeconfigFlag, limitsOf, paceFlags } from '../runtime/process/process-flags.ts';
import { runProcess } from '../runtime/process/run-process.ts';
import { defineCommand, type Environment, ExitCode } from './command.ts';
import { nodeFlags } from './node-flags.ts';
import { processContext } from './process-context.ts';
import { packageVersion } from './version.ts';

export const command = defineCommand({
  summary: 'Mounts volumes for the pods of one node',
  description:
    'The volume half of a kubelet: registers the node, finds drivers by their registration sockets in ' +
    'ROOT/plugins_registry, and stages, publishes, unpublishes and unstages the volumes of its pods. Its identity ' +
    'is system:node:NAME. Prints one line "ready NAME" once it works. Mounts stay when it is stopped.',
  flags: {
    'hostname-override': stringFlag({ help: 'Name of the node; default: the host name', default: '' }),
    'root-dir': stringFlag({
      help: "The kubelet's root directory, with pods, plugins and plugins_registry",
      default: '/var/lib/kubelet',
    }),
    'node-labels': mapFlag({ help: 'Labels for the Node when it is registered' }),
    'replace-topology-labels': boolFlag({
      help: 'When a driver reports another topology than the label of the node, replace the label if only that driver uses it; otherwise the driver is not registered',
    }),
    ...nodeFlags,
    'user-namespace': boolFlag({
      help: 'Without root: run as root of a new user and mount namespace; drivers must run in it too',
      default: true,
    }),
    kubeconfig: kubeconfigFlag,
    ...paceFlags,
    'http-endpoint': stringFlag({
      help: 'Address of metrics and /healthz, as in :10248; not served by default',
      default: '',
    }),
    'metrics-path': stringFlag({ help: 'Path of the metrics', default: '/metrics' }),
  },
  async run({ flags, signal, log, stdout, stderr, env }) {
    if (process.getuid?.() !== 0 && flags.userNamespace) {
      stderr.write(
        'berth node: not root, so it runs in a new user and mount namespace: mounts are visible only there, and ' +
          'drivers must be started in it too\n',
      );
      return await inOwnNamespace(signal, env);
    }
    const rootDir = resolve(flags.rootDir);
    const nodeName = (flags.hostnameOverride || hostname()).toLowerCase();
    const version = await packageVersion();
    const mounter = await openTriedMounter(rootDir);
    const selinux = await hostSELinux();
    const config = await kubeConfigOf(flags, env);
    const context = await processContext('node', { log, env, signal });
    const { httpEndpoint: address, metricsPath } = flags;
    const options = {
      config,
      limits: limitsOf(flags),
      endpoint: address === '' ? undefined : { address, metricsPath },
      identity: nodeName,
    };
    await runProcess(options, context, async (running) => {
      const { kube, metrics } = running;
      const { clock, random } = context;
      const informers = running.informers();
      const agent = createNodeAgent({
        kube,
        informers,
        clock,
        random,
        log,
        metrics,
        recorder: running.recorderFor('kubelet'),
        mounter,
        ...(selinux && { selinux }),
        files: diskFiles(rootDir, clock),
        connect: (socket) =>
          connectCsi({
            address: socket,
            log,
            clock,
            metrics: operationMetrics({ metrics, prefix: 'csi', driverName: socket }),
          }),
        options: {
          nodeName,
          rootDir,
          host: hostFacts(nodeName, version),
          labels: flags.nodeLabels,
          replaceTopologyLabels: flags.replaceTopologyLabels,
          volumeStatsAggPeriodMs: flags.volumeStatsAggPeriodMs,
          seLinuxMount: flags.featureGates.SELinuxMount,
        },
      });
      informers.start(running.signal);
      agent.ready.then(
        () => stdout.write(`ready ${nodeName}\n`),
        () => {},
      );
      await agent.run(running.signal);
    });
    return ExitCode.ok;
  },
});

/** Re-executes the command as root of new namespaces. */
async function inOwnNamespace(signal: AbortSignal, env: Environment): Promise<ExitCode> {
  const [program = process.execPath, ...args] = process.argv;
  const options = ['--user', '--map-root-user', '--mount', '--propagation', 'private', '--', program];
  const child = spawn('unshare', [...options, ...process.execArgv, ...args], {
    stdio: 'inherit',
    env: env as NodeJS.ProcessEnv,
  });
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code === 0 ? ExitCode.ok : ExitCode.failed;
  } catch (error) {
    throw new Error(
      'mounting needs root, and a user namespace could not be created: run it with sudo, or install unshare (util-linux) and ' +
        'allow unprivileged user namespaces',
      { cause: error },
    );
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
