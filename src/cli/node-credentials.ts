// `berth node-credentials`: a kubeconfig with which a kubelet joins the cluster as one node.

import { dns1123SubdomainProblems } from '../api/names.ts';
import { kubeconfigFor, writeKubeconfig } from '../apiserver/auth/kubeconfig.ts';
import { NODE_CREDENTIALS_PATH, type NodeCredentials } from '../apiserver/http/node-credentials-path.ts';
import { stringFlag } from '../runtime/flags/flag.ts';
import { defineCommand, UsageError } from './command.ts';
import { connectionFlags } from './objects/object-flags.ts';
import { findKubeConfig, readLines } from './objects/read-lines.ts';

export const command = defineCommand({
  summary: 'Prints a kubeconfig with which a kubelet joins as the node NAME',
  description:
    'The credentials have the rights of that node in the group system:nodes and nothing more, and are valid for a year. ' +
    "Needs an administrator's kubeconfig. Example: `berth node-credentials worker-1 --output kubelet.kubeconfig`, then " +
    '`kubelet --kubeconfig=kubelet.kubeconfig --hostname-override=worker-1 …`.',
  arguments: { usage: 'NAME', min: 1, max: 1 },
  flags: {
    ...connectionFlags,
    output: stringFlag({ help: 'File to write it to (mode 0600); without it, standard output' }),
  },
  async run({ flags, args, env, signal, stdout }) {
    const [name = ''] = args;
    const [problem] = dns1123SubdomainProblems(name);
    if (problem !== undefined)
      throw new UsageError(`${JSON.stringify(name)} is not a valid node name: ${problem}`);
    const config = await findKubeConfig(flags, env);
    const path = `${NODE_CREDENTIALS_PATH}?name=${encodeURIComponent(name)}`;
    let text = '';
    for await (const line of readLines(config, { path, what: 'node credentials', signal })) text += line;
    signal.throwIfAborted();
    const { user, caPem, keyPem, certificatePem } = JSON.parse(text) as NodeCredentials;
    const kubeconfig = kubeconfigFor({
      server: config.server,
      caPem,
      user: { name: user, keyPem, certificatePem },
    });
    if (flags.output === undefined) stdout.write(`${JSON.stringify(kubeconfig, undefined, 2)}\n`);
    else await writeKubeconfig(flags.output, kubeconfig);
  },
});
