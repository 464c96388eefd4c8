// The context that commands pass to the process runner: real clock and randomness, and the program's name and version.

import { hostname } from 'node:os';
import type { FlagTable } from '../runtime/flags/flag.ts';
import type { ProcessContext } from '../runtime/process/run-process.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import type { CommandContext } from './command.ts';
import { packageVersion } from './version.ts';

export async function processContext(
  name: string,
  { log, env, signal }: Pick<CommandContext<FlagTable>, 'log' | 'env' | 'signal'>,
): Promise<ProcessContext> {
  const userAgent = `berth-${name}/${await packageVersion()}`;
  return { clock: realClock, random: realRandom, log, env, hostname: hostname(), userAgent, signal };
}
