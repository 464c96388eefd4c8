// Parses the command line of each of Berth's containers as the container will, so that a flag that it would reject is
// rejected before anything is deployed. The flags of a command come in through a port.

import type { Container } from 'kubernetes-types/core/v1.js';
import type { FlagTable } from '../runtime/flags/flag.ts';
import { FlagError, parseFlags } from '../runtime/flags/parse-flags.ts';
import type { Manifest } from './plan.ts';

/** The flags of a command of `berth`; undefined when there is no such command. */
export type FlagsOf = (command: string) => Promise<FlagTable | undefined>;

/** The problem, as a sentence; undefined when every command line is accepted. */
export async function commandLineProblem(
  manifests: readonly Manifest[],
  flagsOf: FlagsOf,
): Promise<string | undefined> {
  for (const { kind, spec } of manifests) {
    const template = (spec as { template?: { spec: { containers: Container[] } } } | undefined)?.template;
    for (const { name, command: [program, subcommand = ''] = [], args = [] } of template?.spec.containers ??
      []) {
      const table = program === 'berth' ? await flagsOf(subcommand) : undefined;
      if (table === undefined) continue;
      try {
        parseFlags({ table, argv: args });
      } catch (error) {
        if (!(error instanceof FlagError)) throw error;
        return `container ${name} of the ${kind} would reject its command line: ${error.message}`;
      }
    }
  }
  return undefined;
}
