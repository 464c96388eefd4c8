// `berth trace`: what happened to one claim or pod, step by step, as the components of `berth up` recorded it.

import { existsSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createInterface } from 'node:readline';
import { defaultDataDirectory, kubeconfigIn } from '../cluster/data-directory.ts';
import { Timeline } from '../cluster/trace/timeline.ts';
import type { TraceEntry } from '../cluster/trace/trace-entry.ts';
import { TRACE_PATH } from '../cluster/trace/trace-path.ts';
import { realClock } from '../runtime/clock.ts';
import { boolFlag, choiceFlag, stringFlag } from '../runtime/flags/flag.ts';
import { CredentialSource } from '../runtime/kube/credentials.ts';
import type { KubeConfig } from '../runtime/kube/kube-config.ts';
import { loadKubeConfig } from '../runtime/kube/load-kube-config.ts';
import { defineCommand, type Environment, ExitCode, UsageError } from './command.ts';

const KINDS: Readonly<Record<string, 'claim' | 'pod'>> = {
  pod: 'pod',
  pods: 'pod',
  po: 'pod',
  pvc: 'claim',
  claim: 'claim',
  persistentvolumeclaim: 'claim',
  persistentvolumeclaims: 'claim',
};

export const command = defineCommand({
  summary: 'Show what happened to a claim or a pod: every change, every CSI call, every retry, in order',
  description:
    'Works with the API server of `berth up`, which records it. Examples: `berth trace pod web`, `berth trace pvc data -f`.',
  arguments: { usage: 'pod|pvc NAME', min: 1, max: 2 },
  flags: {
    kubeconfig: stringFlag({ help: 'Kubeconfig file; without it KUBECONFIG, then that of `berth up`' }),
    namespace: stringFlag({ help: 'Namespace of the object (also -n)' }),
    n: stringFlag({ help: 'Same as --namespace', hidden: true }),
    follow: boolFlag({ help: 'Go on with what happens next (also -f)' }),
    f: boolFlag({ help: 'Same as --follow', hidden: true }),
    output: choiceFlag({ help: 'Form of the output', choices: ['text', 'json'], default: 'text' }),
  },
  async run({ flags, args, env, signal, stdout, stderr }) {
    const subject = subjectOf(args);
    const config = await findConfig(flags.kubeconfig, env);
    const namespace = flags.namespace ?? flags.n ?? config.namespace ?? 'default';
    const follow = flags.follow || flags.f;
    const query = new URLSearchParams({ ...subject, namespace, follow: String(follow) });
    const answer = await open(config, `${TRACE_PATH}?${query}`, signal);
    const timeline = new Timeline();
    let told = 0;
    try {
      for await (const line of createInterface({ input: answer })) {
        if (line === '') continue;
        told += 1;
        const text =
          flags.output === 'json' ? line : timeline.line(JSON.parse(line) as TraceEntry, realClock.now());
        stdout.write(`${text}\n`);
      }
    } catch (error) {
      // Leaving is how one stops following.
      if (!signal.aborted) throw error;
    }
    if (told > 0 || signal.aborted) return ExitCode.ok;
    stderr.write(
      `berth trace: nothing is recorded of ${subject.kind} ${namespace}/${subject.name}; only what happened since ` +
        'berth up was started is kept\n',
    );
    return ExitCode.failed;
  },
});

/** `pod web`, or `pod/web`. */
function subjectOf(args: readonly string[]): { kind: 'claim' | 'pod'; name: string } {
  const [word = '', name = ''] = args.length === 1 ? (args[0] ?? '').split('/') : args;
  const kind = KINDS[word.toLowerCase()];
  if (kind === undefined || name === '') {
    throw new UsageError(`expected pod NAME or pvc NAME, got ${args.join(' ')}`);
  }
  return { kind, name };
}

async function findConfig(given: string | undefined, env: Environment): Promise<KubeConfig> {
  const own = kubeconfigIn(defaultDataDirectory(env));
  const path = given ?? (env.KUBECONFIG || !existsSync(own) ? undefined : own);
  return loadKubeConfig({ env, ...(path !== undefined && { path }) });
}

async function open(config: KubeConfig, path: string, signal: AbortSignal): Promise<IncomingMessage> {
  const { headers, tls } = await new CredentialSource({ config, clock: realClock }).current();
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const url = new URL(path, config.server);
    const request = httpsRequest(url, { headers: { ...headers }, ...tls, signal }, resolve);
    request.on('error', (error) =>
      reject(
        new Error(
          `the API server at ${config.server} (${config.source}) cannot be reached: ${error.message}`,
        ),
      ),
    );
    request.end();
  });
  if (answer.statusCode === 200) return answer;
  answer.resume();
  if (answer.statusCode === 404) {
    throw new Error(`the API server at ${config.server} keeps no trace; berth trace works with berth up`);
  }
  throw new Error(
    `the API server at ${config.server} answered ${answer.statusCode} to a question for its trace`,
  );
}
