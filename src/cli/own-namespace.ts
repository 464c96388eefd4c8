// Runs this very command again as root of a user and mount namespace of its own, so that it can mount without being root.

import { spawn } from 'node:child_process';
import { onAbort } from '../runtime/time/on-abort.ts';
import { ExitCode } from './command.ts';

/** Resolves with the exit code. Output and input are those of this process. */
export async function runInOwnNamespace(signal: AbortSignal): Promise<ExitCode> {
  const [program = '', ...args] = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const child = spawn('unshare', ['--user', '--map-root-user', '--mount', program, ...args], {
    stdio: 'inherit',
  });
  onAbort(signal, () => child.kill('SIGTERM'));
  const { promise, resolve, reject } = Promise.withResolvers<ExitCode>();
  child.once('error', (error) =>
    reject(
      new Error(`mounting volumes needs root, or unshare(1) for a namespace of one's own: ${error.message}`),
    ),
  );
  child.once('exit', (code) => resolve(code === 0 ? ExitCode.ok : ExitCode.failed));
  return promise;
}
