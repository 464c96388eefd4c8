// `berth manifests` as a user runs it, without a process: what it printed, as objects.

import { parseAllDocuments } from 'yaml';
import type { Draft, KubeObject } from '../../src/api/object.ts';
import { commands } from '../../src/cli/commands.ts';
import { runCommand } from '../../src/cli/run-command.ts';
import { silentLog } from '../../src/runtime/log.ts';

// biome-ignore lint/suspicious/noExplicitAny: manifests of many kinds, looked into at many depths
export type Printed = Draft<KubeObject> & { kind: string; spec?: any; [field: string]: any };

export async function runManifests(argv: readonly string[]) {
  let [stdout, stderr] = ['', ''];
  const code = await runCommand({
    argv: ['manifests', ...argv],
    commands,
    signal: new AbortController().signal,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    env: {},
    createLog: async () => silentLog,
  });
  return { code, stdout, stderr };
}

export async function printManifests(argv: readonly string[]): Promise<Printed[]> {
  const { code, stdout, stderr } = await runManifests(argv);
  if (code !== 0) throw new Error(`berth manifests ${argv.join(' ')} ended with ${code}: ${stderr}`);
  return (parseAllDocuments(stdout) as { toJS(): Printed }[]).map((document) => document.toJS());
}
