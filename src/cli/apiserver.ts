// `berth apiserver`: the embedded Kubernetes API server alone, for kubectl and any other client.

import { createApiServer, DEFAULT_NODE_LABEL_PREFIXES } from '../apiserver/index.ts';
import { boolFlag, intFlag, stringFlag, stringsFlag } from '../runtime/flags/flag.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { aborted } from '../runtime/time/until-aborted.ts';
import { defineCommand, UsageError } from './command.ts';

export const command = defineCommand({
  summary: 'Runs the embedded Kubernetes API server',
  description:
    'Prints one line "ready https://HOST:PORT" on standard output once it serves, and runs until SIGINT or SIGTERM.',
  flags: {
    'data-dir': stringFlag({
      help: 'Directory of all state; created when missing',
      default: '.berth/apiserver',
    }),
    ephemeral: boolFlag({ help: 'Keep everything in memory only' }),
    host: stringFlag({ help: 'Address to listen on', default: '127.0.0.1' }),
    port: intFlag({ help: 'Port to listen on; 0 for any free one', default: 0 }),
    'node-label-prefixes': stringsFlag({
      help: "Prefixes of labels that nodes may set on their own Node, besides the kubelet's",
      default: DEFAULT_NODE_LABEL_PREFIXES,
    }),
    'max-connections': intFlag({
      help: 'Connections at once; one client may have a quarter of them',
      default: 10_000,
      min: 4,
    }),
    'max-watches': intFlag({
      help: 'Watches at once; one client may have a quarter of them',
      default: 8_000,
      min: 4,
    }),
    kubeconfig: stringFlag({ help: "File to write the admin's kubeconfig to (mode 0600)", default: '' }),
  },
  async run({ flags, given, signal, log, stdout }) {
    if (flags.ephemeral && given.has('data-dir')) {
      throw new UsageError('--data-dir and --ephemeral exclude each other');
    }
    if (flags.dataDir === '') throw new UsageError('--data-dir must not be empty');
    const server = await createApiServer({
      clock: realClock,
      random: realRandom,
      log,
      host: flags.host,
      port: flags.port,
      limits: { maxConnections: flags.maxConnections, maxWatches: flags.maxWatches },
      admission: { nodeLabelPrefixes: flags.nodeLabelPrefixes },
      ...(flags.ephemeral ? {} : { dataDir: flags.dataDir }),
      ...(flags.kubeconfig === '' ? {} : { kubeconfigPath: flags.kubeconfig }),
    });
    stdout.write(`ready ${server.url}\n`);
    await aborted(signal);
    await server.stop();
  },
});
