// `berth logs`: what the parts of `berth up` say, also what its own output leaves out. Pods have no logs here, for
// Berth runs no containers.

import { boolFlag, stringFlag } from '../runtime/flags/flag.ts';
import { textOf } from '../runtime/log/log.ts';
import type { KeptLine } from '../trace/log-book.ts';
import { LOGS_PATH } from '../trace/logs-path.ts';
import { defineCommand, ExitCode } from './command.ts';
import { findKubeConfig, readLines } from './objects/read-lines.ts';

export const command = defineCommand({
  summary: 'Show what a part of berth up said: berth logs provisioner -f',
  description:
    'Without a part, all of them. The parts are those that `berth up` lists; each node is one too. Berth runs no ' +
    'containers, so pods have no logs: what happened to one is in `berth trace pod NAME`.',
  arguments: { usage: '[PART]', min: 0, max: 1 },
  flags: {
    kubeconfig: stringFlag({ help: 'Kubeconfig file; without it KUBECONFIG, then that of `berth up`' }),
    follow: boolFlag({ help: 'Go on with what is said next (also -f)' }),
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
      `berth logs: ${part ?? 'no part'} has said nothing; \`berth up\` lists the parts there are\n`,
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
