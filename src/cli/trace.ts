// `berth trace`: the recorded history of a claim or pod, from `berth up`.

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
  summary: 'Shows the history of a claim or pod: every change, CSI call and retry, in order',
  description:
    'Needs the API server of `berth up`, which records it. Examples: `berth trace pod web`, `berth trace pvc data -f`.',
  arguments: { usage: 'pod|pvc NAME', min: 1, max: 2 },
  flags: {
    kubeconfig: stringFlag({ help: 'Kubeconfig file; without it KUBECONFIG, then that of `berth up`' }),
    namespace: stringFlag({ help: 'Namespace of the object (also -n)' }),
    n: stringFlag({ help: 'Same as --namespace', hidden: true }),
    follow: boolFlag({ help: 'Follow new entries (also -f)' }),
    f: boolFlag({ help: 'Same as --follow', hidden: true }),
    output: choiceFlag({ help: 'Output format', choices: ['text', 'json'], default: 'text' }),
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
      `berth trace: nothing is recorded of ${subject.kind} ${namespace}/${subject.name}; entries are kept ` +
        'only since the start of berth up\n',
    );
    return ExitCode.failed;
  },
});
