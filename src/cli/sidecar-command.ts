// Turns a cluster-level sidecar into a command with its own and the common flags.

import type { FlagTable } from '../runtime/flags/flag.ts';
import { commonFlags } from '../sidecars/common/common-flags.ts';
import { runSidecar } from '../sidecars/common/run-sidecar.ts';
import type { SidecarFlags, SidecarKind } from '../sidecars/common/sidecar.ts';
import { type Command, defineCommand } from './command.ts';
import { processContext } from './process-context.ts';

export function sidecarCommand<T extends FlagTable>(
  kind: SidecarKind<T>,
  { flags: otherDefaults, ...about }: { summary: string; description?: string; flags?: FlagTable },
): Command {
  return defineCommand({
    ...about,
    flags: { ...commonFlags, ...kind.flags, ...otherDefaults },
    async run(context) {
      const flags = context.flags as unknown as SidecarFlags<T> & { timeoutMs: number };
      await runSidecar(kind, flags, await processContext(kind.name, context));
    },
  });
}
