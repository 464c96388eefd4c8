// `berth trace`: what happened to one claim or pod, step by step, as the components of `berth up` recorded it.

import { boolFlag, choiceFlag, stringFlag } from '../runtime/flags/flag.ts';
import { printableLine } from '../runtime/log/printable.ts';
import { realClock } from '../runtime/time/clock.ts';
import { Timeline } from '../trace/timeline.ts';
import type { TraceEntry } from '../trace/trace-entry.ts';
import { TRACE_PATH } from '../trace/trace-path.ts';
import { defineCommand, ExitCode } from './command.ts';
import { findKubeConfig, readLines } from './objects/read-lines.ts';
import { subjectOf } from './objects/subject-argument.ts';

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
    const subject = subjectOf(args, ['pod', 'claim']);
    const config = await findKubeConfig(flags, env);
    const namespace = flags.namespace ?? flags.n ?? config.namespace ?? 'default';
    const follow = flags.follow || flags.f;
    const query = new URLSearchParams({ ...subject, namespace, follow: String(follow) });
    const timeline = new Timeline();
    let told = 0;
    for await (const line of readLines(config, { path: `${TRACE_PATH}?${query}`, what: 'trace', signal })) {
      told += 1;
      const text =
        flags.output === 'json' ? line : timeline.line(JSON.parse(line) as TraceEntry, realClock.now());
      stdout.write(`${printableLine(text)}\n`);
    }
    if (told > 0 || signal.aborted) return ExitCode.ok;
    stderr.write(
      `berth trace: nothing is recorded of ${subject.kind} ${namespace}/${subject.name}; only what happened since ` +
        'berth up was started is kept\n',
    );
    return ExitCode.failed;
  },
});
