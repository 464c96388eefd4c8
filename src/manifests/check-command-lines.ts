// Reads the command line of each container of Berth's as that container will: a flag that it would refuse is refused
// before anything is deployed.

import type { Container } from 'kubernetes-types/core/v1.js';
import { standardFlags } from '../cli/command.ts';
import { commands } from '../cli/commands.ts';
import { FlagError, parseFlags } from '../runtime/flags/parse-flags.ts';
import type { Manifest } from './plan.ts';

/** What is wrong, in one sentence; undefined when all is well. */
export async function commandLineProblem(manifests: readonly Manifest[]): Promise<string | undefined> {
  for (const { kind, spec } of manifests) {
    const template = (spec as { template?: { spec: { containers: Container[] } } } | undefined)?.template;
    for (const { name, command: [program, subcommand = ''] = [], args = [] } of template?.spec.containers ??
      []) {
      const row = program === 'berth' ? commands[subcommand] : undefined;
      if (row === undefined) continue;
      const { command } = await row.load();
      try {
        parseFlags({ table: { ...command.flags, ...standardFlags }, argv: args });
      } catch (error) {
        if (!(error instanceof FlagError)) throw error;
        return `container ${name} of the ${kind} would refuse its command line: ${error.message}`;
      }
    }
  }
  return undefined;
}
