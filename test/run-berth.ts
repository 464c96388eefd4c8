// Runs a `berth` command in this process; returns its exit code and output.

import { commands } from '../src/cli/commands.ts';
import { runCommand } from '../src/cli/run-command.ts';
import { silentLog } from '../src/runtime/log/log.ts';

export async function runBerth(argv: readonly string[]) {
  let [stdout, stderr] = ['', ''];
  const code = await runCommand({
    argv,
    commands,
    signal: new AbortController().signal,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    env: {},
    createLog: async () => silentLog,
  });
  return { code, stdout, stderr };
}
