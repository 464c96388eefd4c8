// What a command of `berth` is. To add one: write `src/cli/<name>.ts` that exports `command = defineCommand({…})`,
// and give it one row in commands.ts. Everything else (flags, `--help`, signals, logs, errors, exit codes) is done
// by run-command.ts. A command builds its ports from `context`, runs until done or until `signal` aborts, and returns
// or throws; it never calls `process.exit`, never installs signal handlers and never reads `process.env`.
//
//   export const command = defineCommand({
//     summary: 'Attaches and detaches volumes for one CSI driver',
//     flags: { 'csi-address': stringFlag({ help: 'Socket of the driver', default: '/run/csi/socket' }) },
//     async run({ flags, signal, log }) {
//       log.info('starting', { socket: flags.csiAddress });
//       await runAttacher({ … }, signal);
//     },
//   });
import { boolFlag, type FlagTable } from '../runtime/flags/flag.ts';
import { logFlags } from '../runtime/flags/log-flags.ts';
import type { FlagValues } from '../runtime/flags/parse-flags.ts';
import type { Log } from '../runtime/ports.ts';

/** What a command ends with. A command that returns nothing ended well. */
export const ExitCode = {
  ok: 0,
  /** It was understood and could not be done. */
  failed: 1,
  /** The command line was wrong; nothing was done. */
  usage: 2,
  /** Stopped at once by a second SIGINT or SIGTERM, without cleaning up. */
  interrupted: 130,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** Flags that every command has. */
export const standardFlags = {
  ...logFlags,
  help: boolFlag({ help: 'Print this help', group: 'Help' }),
  h: boolFlag({ help: 'Print this help', hidden: true }),
  // Every official sidecar takes it.
  version: boolFlag({ help: 'Print the version and exit', group: 'Help' }),
};

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where text for the user goes: `process.stdout` is one. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** What a command is given: control characters in its text are shown escaped. */
export interface CommandOutput extends Output {
  readonly isTTY: boolean;
  /** Replaces the line that the cursor is in. For terminals. */
  redraw(line: string): unknown;
}

export interface CommandContext<T extends FlagTable> {
  readonly flags: FlagValues<T & typeof standardFlags>;
  /** Names of the flags that were given, for commands that treat a default and a choice differently. */
  readonly given: ReadonlySet<string>;
  /** Arguments that are no flags. */
  readonly args: readonly string[];
  /** Aborts on SIGINT and SIGTERM. The command then cleans up and returns. */
  readonly signal: AbortSignal;
  readonly stdout: CommandOutput;
  readonly stderr: CommandOutput;
  readonly env: Environment;
  readonly log: Log;
}

export interface CommandDefinition<T extends FlagTable> {
  /** One line, for the list of commands. */
  readonly summary: string;
  /** Further paragraphs for `--help`. */
  readonly description?: string;
  /** Arguments that are no flags: how the help calls them, and how many there may be. None unless told. */
  readonly arguments?: { readonly usage: string; readonly min: number; readonly max: number };
  readonly flags: T;
  run(context: CommandContext<T>): Promise<ExitCode | undefined> | Promise<void>;
}

/** A command whose flags are its own business: what the dispatcher sees. */
// biome-ignore lint/suspicious/noExplicitAny: the flags' types are known only to the command itself
export type Command = CommandDefinition<any>;

/** Keeps the flags' types for `run`. */
export function defineCommand<const T extends FlagTable>(definition: CommandDefinition<T>): Command {
  return definition;
}

/** A mistake in the arguments that the flag table cannot see: printed in one line, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
