// The definition of a `berth` command. To add one: write `src/cli/<name>.ts` that exports `command =
// defineCommand({…})`, and add a row to commands.ts. run-command.ts does the rest (flags, `--help`, signals, logs,
// errors, exit codes). A command builds its ports from `context`, runs until done or until `signal` aborts, and returns
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
import type { Piece } from '../runtime/log/styled-text.ts';
import type { Log } from '../runtime/ports.ts';

/** Exit codes. A command that returns nothing exits with `ok`. */
export const ExitCode = {
  ok: 0,
  /** The command failed. */
  failed: 1,
  /** The command line was wrong; nothing was done. */
  usage: 2,
  /** `berth why --exit-code`: something is stuck. */
  stuck: 3,
  /** `berth why --exit-code`: something waits, and nothing is stuck. */
  waits: 4,
  /** `berth audit`: something is leaked or stale. */
  leaks: 3,
  /** `berth audit`: nothing is leaked for certain; something is doubtful, or could not be compared. */
  doubts: 4,
  /** Stopped at once by a second SIGINT or SIGTERM, without cleaning up. */
  interrupted: 130,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** The flags of every command. */
export const standardFlags = {
  ...logFlags,
  help: boolFlag({ help: 'Print this help', group: 'Help' }),
  h: boolFlag({ help: 'Print this help', hidden: true }),
  // As every official sidecar has it.
  version: boolFlag({ help: 'Print the version and exit (also -V)', group: 'Help' }),
  V: boolFlag({ help: 'Same as --version', hidden: true }),
};

export type Environment = Readonly<Record<string, string | undefined>>;

/** An output stream, such as `process.stdout`. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  /** Of the terminal. */
  readonly columns?: number | undefined;
  /** Replaces the status line, on a terminal that has one. */
  redraw?(line: string): unknown;
}

/** The output of a command: control characters are escaped. */
export interface CommandOutput extends Output {
  readonly isTTY: boolean;
  /** One line, coloured on a terminal unless NO_COLOR is set. */
  line(pieces: readonly Piece[]): unknown;
  /** Replaces the status line of a terminal; empty: there is none any more. */
  redraw(line: string): unknown;
}

export interface CommandContext<T extends FlagTable> {
  readonly flags: FlagValues<T & typeof standardFlags>;
  /** Names of the flags that were given, to tell them from defaults. */
  readonly given: ReadonlySet<string>;
  /** The whole command line after the command's name. */
  readonly argv: readonly string[];
  /** Positional arguments. */
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
  /** Positional arguments: their name in the help, and how many are allowed; default none. */
  readonly arguments?: { readonly usage: string; readonly min: number; readonly max: number };
  /** What the shell completes its arguments with: objects of any kind, those that `why` explains, or these words. */
  readonly completes?: 'objects' | 'subjects' | readonly string[];
  readonly flags: T;
  run(context: CommandContext<T>): Promise<ExitCode | undefined> | Promise<void>;
}

/** A command with its flag types erased, for the dispatcher. */
// biome-ignore lint/suspicious/noExplicitAny: the flags' types are known only to the command itself
export type Command = CommandDefinition<any>;

/** Keeps the flags' types for `run`. */
export function defineCommand<const T extends FlagTable>(definition: CommandDefinition<T>): Command {
  return definition;
}

/** An error in the arguments that flag parsing cannot detect: printed on one line, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
