// A cluster-level sidecar as a command: its flags and the common ones, and the process' own ports.

import { hostname } from 'node:os';
import type { FlagTable } from '../runtime/flags/flag.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { type CommonFlagValues, commonFlags, endpointAddress } from '../sidecars/common/common-flags.ts';
import { type RunSidecarContext, runSidecar } from '../sidecars/common/run-sidecar.ts';
import type { SidecarFlags, SidecarKind } from '../sidecars/common/sidecar.ts';
import { type Command, type CommandContext, defineCommand, UsageError } from './command.ts';
import { packageVersion } from './version.ts';

export function sidecarCommand<T extends FlagTable>(
  kind: SidecarKind<T>,
  about: { summary: string; description?: string },
): Command {
  return defineCommand({
    ...about,
    flags: { ...commonFlags, ...kind.flags },
    async run(context) {
      const flags = context.flags as unknown as SidecarFlags<T> & { timeoutMs: number };
      checkFlags(flags);
      await runSidecar(kind, flags, await processContext(kind.name, context));
    },
  });
}

export function checkFlags(flags: CommonFlagValues): void {
  try {
    endpointAddress(flags);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

export async function processContext(
  name: string,
  { log, env, signal }: Pick<CommandContext<FlagTable>, 'log' | 'env' | 'signal'>,
): Promise<RunSidecarContext> {
  const userAgent = `berth-${name}/${await packageVersion()}`;
  return { clock: realClock, random: realRandom, log, env, hostname: hostname(), userAgent, signal };
}
