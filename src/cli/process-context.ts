// What a command that runs as a long-lived process gives the process runner: real time and chance, and who it is.

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
