// A command of berth in this process: many of them in one test would otherwise spend their time starting.

import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commands } from '../../src/cli/commands.ts';
import { runCommand } from '../../src/cli/run-command.ts';
import { memoryLog } from '../../src/runtime/log/log.ts';
import type { Ended } from './up-process.ts';

/** `input`: manifests, given as a file in the place of `-`. */
export async function berthHere(
  args: readonly string[],
  { env, input }: { env: Record<string, string>; input?: string },
): Promise<Ended> {
  const printed = { stdout: '', stderr: '' };
  let argv = args;
  if (input !== undefined) {
    const file = join(await mkdtemp(join(tmpdir(), 'in-')), 'manifest.json');
    await writeFile(file, input);
    argv = args.map((argument) => (argument === '-' ? file : argument));
  }
  const code = await runCommand({
    argv,
    commands,
    signal: new AbortController().signal,
    stdout: {
      write: (text) => {
        printed.stdout += text;
      },
    },
    stderr: {
      write: (text) => {
        printed.stderr += text;
      },
    },
    env,
    createLog: async () => memoryLog(),
  });
  return { code, ...printed };
}
