// The process: signals in, one exit code out. The first SIGINT or SIGTERM, or an EPIPE on its output, aborts the
// command's signal, so that it cleans up; a second signal ends the process at once.
import { ExitCode } from './command.ts';
import { type CommandRow, commands } from './commands.ts';
import { runCommand } from './run-command.ts';
import { Terminal } from './terminal.ts';

export async function main(
  argv: readonly string[],
  table: Readonly<Record<string, CommandRow>> = commands,
): Promise<void> {
  const stop = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    if (stop.signal.aborted) process.exit(ExitCode.interrupted);
    stop.abort(new DOMException(`received ${name}`, 'AbortError'));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // A closed pipe (`berth up | head -1`) is not an error, and the command must still clean up. Further output is
  // dropped.
  const onOutputError = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error;
    stop.abort(new DOMException('the output was closed', 'AbortError'));
  };
  process.stdout.on('error', onOutputError);
  process.stderr.on('error', onOutputError);
  const terminal = new Terminal();
  const stderr = terminal.of(process.stderr);
  const code = await runCommand({
    argv,
    commands: table,
    signal: stop.signal,
    stdout: terminal.of(process.stdout),
    stderr,
    env: process.env,
    createLog: async ({ verbosity, format }) => {
      const [{ createLog }, { realClock }] = await Promise.all([
        import('../runtime/log/log.ts'),
        import('../runtime/time/clock.ts'),
      ]);
      return createLog({ verbosity, format, clock: realClock, stream: stderr });
    },
  });
  // Not `exitCode`: a handle that was left open must not keep the process alive. Pipes are flushed first.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
}
