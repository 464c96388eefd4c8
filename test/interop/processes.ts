// Programs as processes of their own, ours and the official ones, with what they printed at hand to explain a failure.

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const BERTH = fileURLToPath(new URL('../../bin/berth', import.meta.url));
/** More than the end of a log that explains why a program gave up. */
const KEPT = 20_000;

/** What to run: the program and its first arguments. */
export type Program = readonly [string, ...string[]];

export const berth = (command: string): Program => [process.execPath, BERTH, ...command.split(' ')];

export interface Processes {
  start(program: Program, argv: readonly string[], env?: Record<string, string>): ChildProcess;
  /** What they all printed last. */
  output(): string;
  /** Ends them, without warning unless told otherwise. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export function processes(): Processes {
  const children: { child: ChildProcess; ended: Promise<void>; name: string; text: string }[] = [];
  return {
    start([program, ...first], argv, env = {}) {
      const child = spawn(program, [...first, ...argv], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, ...env },
      });
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      const entry = { child, ended, text: '', name: [program, ...first].join(' ') };
      for (const stream of [child.stdout, child.stderr]) {
        stream?.on('data', (chunk) => {
          entry.text = `${entry.text}${chunk}`.slice(-KEPT);
        });
      }
      children.push(entry);
      return child;
    },
    output: () => children.map(({ name, text }) => `--- ${name}\n${text}`).join('\n'),
    async stop(signal = 'SIGKILL') {
      // The last first: nobody is left that misses what it stands on.
      for (const { child, ended } of children.splice(0).reverse()) {
        child.kill(signal);
        await ended;
      }
    },
  };
}
