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
import { createEventRecorder } from '../runtime/events/create-event-recorder.ts';
import { boolFlag, mapFlag, stringFlag } from '../runtime/flags/flag.ts';
import { createInformers } from '../runtime/informer/create-informers.ts';
import { createHttpKubeClient } from '../runtime/kube/http-kube-client.ts';
import { loadKubeConfig } from '../runtime/kube/load-kube-config.ts';
import { createMetrics } from '../runtime/metrics/metrics.ts';
import { openTriedMounter } from '../runtime/mount/tried-mounter.ts';
import { serveHttpEndpoint } from '../runtime/process/http-endpoint.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { kubeconfigFlag, paceFlags } from '../sidecars/common/common-flags.ts';
import { defineCommand, type Environment, ExitCode } from './command.ts';
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
    const metrics = createMetrics({ clock: realClock });
    const config = await loadKubeConfig({ env, ...(flags.kubeconfig !== '' && { path: flags.kubeconfig }) });
    const ports = { clock: realClock, random: realRandom, log, metrics };
    const kube = createHttpKubeClient({
      ...ports,
      config,
      userAgent: `berth-node/${version}`,
      ...(flags.kubeApiQps !== undefined && { qps: flags.kubeApiQps }),
      ...(flags.kubeApiBurst !== undefined && { burst: flags.kubeApiBurst }),
    });
    const informers = createInformers({ ...ports, kube, ownsObjects: true });
    const recorder = createEventRecorder({ ...ports, kube, component: 'kubelet', instance: nodeName });
    const agent = createNodeAgent({
      ...ports,
      kube,
      informers,
      recorder,
      mounter,
      files: diskFiles(rootDir, realClock),
      connect: (address) =>
        connectCsi({
          address,
          log,
          clock: realClock,
          metrics: operationMetrics({ metrics, prefix: 'csi', driverName: address }),
        }),
      options: { nodeName, rootDir, host: hostFacts(nodeName, version), labels: flags.nodeLabels },
    });
    try {
      if (flags.httpEndpoint !== '') {
        const { httpEndpoint: address, metricsPath } = flags;
        await serveHttpEndpoint({ address, metrics, metricsPath, checks: {}, log, signal });
      }
      informers.start(signal);
      agent.ready.then(
        () => stdout.write(`ready ${nodeName}\n`),
        () => {},
      );
      await agent.run(signal);
      await recorder.flush();
    } finally {
      await kube.close();
    }
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
