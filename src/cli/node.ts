// `berth node`: the kubelet's volume half as a process of its own. Without root it starts itself again as root of a user
// and mount namespace, whose mounts are then its own.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { connectCsi } from '../csi/client/connect-csi.ts';
import { operationMetrics } from '../csi/client/operation-metrics.ts';
import { diskFiles } from '../csi-plugin/mount/disk-files.ts';
import { createNodeAgent } from '../node/node-agent.ts';
import { hostFacts } from '../node/node-object/host-facts.ts';
import { boolFlag, mapFlag, stringFlag } from '../runtime/flags/flag.ts';
import { openTriedMounter } from '../runtime/mount/tried-mounter.ts';
import { kubeConfigOf, kubeconfigFlag, limitsOf, paceFlags } from '../runtime/process/process-flags.ts';
import { runProcess } from '../runtime/process/run-process.ts';
import { defineCommand, type Environment, ExitCode } from './command.ts';
import { processContext } from './process-context.ts';
import { packageVersion } from './version.ts';

export const command = defineCommand({
  summary: 'Mounts volumes for the pods of one node',
  description:
    'The volume half of a kubelet: registers the node, finds drivers by their registration sockets in ' +
    'ROOT/plugins_registry, and stages, publishes, unpublishes and unstages what the pods of the node need. Its identity ' +
    'is system:node:NAME. Prints one line "ready NAME" once it works, and leaves every mount as it is when stopped.',
  flags: {
    'hostname-override': stringFlag({ help: 'Name of the node; the host name unless given', default: '' }),
    'root-dir': stringFlag({
      help: "The kubelet's directory: pods, plugins and plugins_registry lie below it",
      default: '/var/lib/kubelet',
    }),
    'node-labels': mapFlag({ help: 'Labels for the Node when it is registered' }),
    'replace-topology-labels': boolFlag({
      help: 'Replace a topology label that only one driver uses when that driver says something else; otherwise the driver is not registered',
    }),
    'user-namespace': boolFlag({
      help: 'Without root: start again as root of a user and mount namespace; drivers have to run in it too',
      default: true,
    }),
    kubeconfig: kubeconfigFlag,
    ...paceFlags,
    'http-endpoint': stringFlag({
      help: 'Where to serve metrics and /healthz, as in :10248; nowhere unless given',
      default: '',
    }),
    'metrics-path': stringFlag({ help: 'Path of the metrics', default: '/metrics' }),
  },
  async run({ flags, signal, log, stdout, stderr, env }) {
    if (process.getuid?.() !== 0 && flags.userNamespace) {
      stderr.write(
        'berth node: not root, so this runs in a user and mount namespace of its own: mounts are seen only there, and ' +
          'drivers have to be started in it too\n',
      );
      return await inOwnNamespace(signal, env);
    }
    const rootDir = resolve(flags.rootDir);
    const nodeName = (flags.hostnameOverride || hostname()).toLowerCase();
    const version = await packageVersion();
    const mounter = await openTriedMounter(rootDir);
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

/** The same command again, as root of namespaces of its own. */
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
      'mounting needs root, and no namespace could be made instead: run it with sudo, or install unshare (util-linux) and ' +
        'allow unprivileged user namespaces',
      { cause: error },
    );
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
