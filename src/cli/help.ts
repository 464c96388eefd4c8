// The help texts: the list of commands, and the usage of one command. Pure, except that it loads the commands.
import { errorMessage } from '../runtime/error-message.ts';
import { flagHelp } from '../runtime/flags/flag-help.ts';
import { type Command, standardFlags } from './command.ts';
import type { CommandRow } from './commands.ts';

const ABOUT = "Berth: Kubernetes' CSI volume subsystem, complete, in one process.";

/** The commands by group, one line each. A command that cannot be loaded is listed with the reason. */
export async function commandList(commands: Readonly<Record<string, CommandRow>>): Promise<string> {
  const groups = new Map<string, string[]>();
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  for (const [name, row] of Object.entries(commands)) {
    if (row.hidden) continue;
    const summary = await row.load().then(
      ({ command }) => command.summary,
      (error: unknown) => `(not available: ${errorMessage(error)})`,
    );
    groups.set(row.group, [...(groups.get(row.group) ?? []), `  ${name.padEnd(width)}  ${summary}\n`]);
  }
  const sections = [...groups].map(([group, lines]) => `${group}:\n${lines.join('')}`).join('\n');
  return `${ABOUT}

Usage: berth COMMAND [flags]

${sections}
Flags are Go-style: --flag=value, --flag value, -flag, --bool, --bool=false.
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by a second signal.
berth COMMAND --help says more about each.
`;
}

export function commandHelp(name: string, command: Command): string {
  const usage = ['berth', name, command.arguments?.usage, '[flags]'].filter(Boolean).join(' ');
  const description = command.description === undefined ? '' : `\n${command.description.trim()}\n`;
  const flags = flagHelp({ ...command.flags, ...standardFlags });
  return `${command.summary}.\n${description}\nUsage: ${usage}\n\n${flags}`;
}
