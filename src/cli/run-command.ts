// Runs one command line: finds the command, parses its flags, builds its context, and turns the result into an exit
// code and at most one error line on stderr. Touches no process state: main.ts owns the process.
import { FlagError, type FlagValues, nearestOf, parseFlags } from '../runtime/flags/parse-flags.ts';
import type { Log } from '../runtime/ports.ts';
import {
  type Command,
  type CommandOutput,
  type Environment,
  ExitCode,
  type Output,
  standardFlags,
  UsageError,
} from './command.ts';
import type { CommandRow } from './commands.ts';
import { commandHelp, commandList } from './help.ts';
import { printableOutput } from './printable-output.ts';
import { packageVersion } from './version.ts';

export interface RunCommandOptions {
  readonly argv: readonly string[];
  readonly commands: Readonly<Record<string, CommandRow>>;
  readonly signal: AbortSignal;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Environment;
  readonly createLog: (options: { verbosity: number; format: 'text' | 'json' }) => Promise<Log>;
}

/** From this verbosity on, an unexpected error is printed with its stack. */
const STACK_VERBOSITY = 4;

export async function runCommand(given: RunCommandOptions): Promise<ExitCode> {
  const { argv, commands } = given;
  const [stdout, stderr] = [given.stdout, given.stderr].map((stream) =>
    printableOutput(stream, given.env),
  ) as [CommandOutput, CommandOutput];
  const options = { ...given, stdout, stderr };
  const [name, ...rest] = argv;
  if (name === undefined) {
    stderr.write(await commandList(commands));
    return ExitCode.usage;
  }
  if (name === 'help' || name === '--help' || name === '-h' || name === '-help') {
    const subject = rest.find((argument) => !argument.startsWith('-'));
    if (subject !== undefined) return runCommand({ ...given, argv: [subject, '--help'] });
    stdout.write(await commandList(commands));
    return ExitCode.ok;
  }
  if (name === '--version' || name === '-version' || name === '-V')
    return runCommand({ ...given, argv: ['version', ...rest] });
  const row = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (row === undefined) {
    const listed = Object.keys(commands).filter((each) => !commands[each]?.hidden);
    const nearest = nearestOf(name, listed) ?? listed.find((each) => each.startsWith(name));
    const hint = nearest === undefined ? '`berth help` lists them' : `did you mean ${nearest}?`;
    stderr.write(`berth: ${name} is not a command; ${hint}\n`);
    return ExitCode.usage;
  }
  const { command } = await row.load();
  return runLoaded({ ...options, name, command, argv: rest });
}

interface Loaded extends RunCommandOptions {
  readonly name: string;
  readonly command: Command;
  readonly stdout: CommandOutput;
  readonly stderr: CommandOutput;
}

async function runLoaded(options: Loaded): Promise<ExitCode> {
  const { name, command, argv, env, signal, stdout, stderr } = options;
  let verbosity = 0;
  try {
    // Help first: it must work even if the command line has other errors.
    if (asksForHelp(argv)) {
      stdout.write(commandHelp(name, command));
      return ExitCode.ok;
    }
    const table = { ...command.flags, ...standardFlags };
    const { values: flags, given, args, notes } = parseFlags({ table, argv, env });
    const standard = flags as FlagValues<typeof standardFlags>;
    if (standard.version || standard.V) {
      stdout.write(`berth ${await packageVersion()}\n`);
      return ExitCode.ok;
    }
    checkArguments(command, args);
    verbosity = standard.v;
    for (const note of notes) stderr.write(`berth ${name}: ${note}\n`);
    const log = await options.createLog({ verbosity, format: standard.loggingFormat });
    return (await command.run({ flags, given, argv, args, signal, stdout, stderr, env, log })) ?? ExitCode.ok;
  } catch (error) {
    const isUsage = error instanceof FlagError || error instanceof UsageError;
    // A command that ends with the abort of its own signal was stopped as requested.
    if (signal.aborted && isAbort(error, signal)) return ExitCode.ok;
    stderr.write(`berth ${name}: ${describe(error)}${isUsage ? `; see berth ${name} --help` : ''}\n`);
    if (verbosity >= STACK_VERBOSITY && error instanceof Error) stderr.write(`${stackOf(error)}\n`);
    return isUsage ? ExitCode.usage : ExitCode.failed;
  }
}

function asksForHelp(argv: readonly string[]): boolean {
  const flags = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  return flags.some((argument) => ['--help', '-help', '-h'].includes(argument));
}

function checkArguments(command: Command, args: readonly string[]): void {
  const { min, max, usage } = command.arguments ?? { min: 0, max: 0, usage: '' };
  if (args.length < min) throw new UsageError(`expected ${usage}, got ${args.join(' ') || 'nothing'}`);
  if (args.length > max) {
    throw new UsageError(
      `unexpected argument ${JSON.stringify(args[max])}${usage ? `, expected ${usage}` : ''}`,
    );
  }
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError');
}

/** The error's message with those of its causes, each once, on one line. */
function describe(error: unknown): string {
  const messages: string[] = [];
  for (let current = error; current !== undefined && messages.length < 5; ) {
    const message = current instanceof Error ? current.message || current.name : String(current);
    if (!messages.some((earlier) => earlier.includes(message))) messages.push(message);
    current = current instanceof Error ? current.cause : undefined;
  }
  return messages.join(': ').replaceAll(/\s*\n\s*/g, ' ');
}

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${stackOf(error.cause)}` : '';
  return `${error.stack ?? error.message}${cause}`;
}
