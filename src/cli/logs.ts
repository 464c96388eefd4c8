// `berth logs`: the logs of the parts of `berth up`, also lines that its own output omits. Pods have no logs, since
// Berth runs no containers.

import { boolFlag, stringFlag } from '../runtime/flags/flag.ts';
import { textOf } from '../runtime/log/log.ts';
import type { KeptLine } from '../trace/log-book.ts';
import { LOGS_PATH } from '../trace/logs-path.ts';
import { defineCommand, ExitCode } from './command.ts';
import { findKubeConfig, readLines } from './objects/read-lines.ts';

export const command = defineCommand({
  summary: 'Shows the log of a part of berth up: berth logs provisioner -f',
  description:
    'Without a part, the logs of all. The parts are those of `berth up --without`, and each node. Berth runs no containers, so pods ' +
    'have no logs: use `berth trace pod NAME`.',
  arguments: { usage: '[PART]', min: 0, max: 1 },
  flags: {
    kubeconfig: stringFlag({ help: 'Kubeconfig file; without it KUBECONFIG, then that of `berth up`' }),
    follow: boolFlag({ help: 'Follow the log (also -f)' }),
    f: boolFlag({ help: 'Same as --follow', hidden: true }),
  },
  async run({ flags, args, env, signal, stdout, stderr }) {
    const config = await findKubeConfig(flags, env);
    const [part] = args;
    const follow = flags.follow || flags.f;
    const query = new URLSearchParams({ ...(part !== undefined && { part }), follow: String(follow) });
    let told = 0;
    for await (const text of readLines(config, { path: `${LOGS_PATH}?${query}`, what: 'logs', signal })) {
      told += 1;
      stdout.write(`${lineText(JSON.parse(text) as KeptLine)}\n`);
    }
    if (told > 0 || signal.aborted) return ExitCode.ok;
    stderr.write(
      `berth logs: no log lines of ${part ?? 'any part'}; \`berth up --help\` lists the parts, at --without\n`,
    );
    return part === undefined ? ExitCode.ok : ExitCode.failed;
  },
});

function lineText(line: KeptLine): string {
  const { part = 'berth', ...fields } = line.fields;
  const time = new Date(line.atMs).toISOString().slice(11, 23);
  const mark = line.level === 'info' ? '' : `${line.level.toUpperCase()} `;
  return `${time} ${String(part).padEnd(14)} ${mark}${textOf({ ...line, fields })}`;
}
