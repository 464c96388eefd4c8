// `berth manifests` as a user runs it, without a process: what it printed, as text and as objects.

import { parseAllDocuments } from 'yaml';
import type { Draft, KubeObject } from '../../src/api/object.ts';
import { runBerth } from '../run-berth.ts';

// biome-ignore lint/suspicious/noExplicitAny: manifests of many kinds, looked into at many depths
export type Printed = Draft<KubeObject> & { kind: string; spec?: any; [field: string]: any };

export const runManifests = (argv: readonly string[]) => runBerth(['manifests', ...argv]);

export async function printedText(argv: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runManifests(argv);
  if (code !== 0) throw new Error(`berth manifests ${argv.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

export async function printManifests(argv: readonly string[]): Promise<Printed[]> {
  return (parseAllDocuments(await printedText(argv)) as { toJS(): Printed }[]).map((document) =>
    document.toJS(),
  );
}
