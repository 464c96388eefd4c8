// A driver that the cluster starts from a command line (`--exec`): run by a shell in a process group of its own, so that
// Ctrl-C does not reach it before its volumes are removed. A driver that ends is started again with backoff; its output
// is logged. Owns the process, not its sockets.

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Clock, Log, Random } from '../runtime/ports.ts';
import { supervise } from '../runtime/process/supervise.ts';

export interface DriverCommand {
  /** For a shell. */
  readonly command: string;
  /** The name of its log lines. */
  readonly part: string;
  /** Added to the environment of this process: `CSI_ENDPOINT` and the like. */
  readonly env: Readonly<Record<string, string>>;
}

export interface DriverProcess {
  /** Rejects when the command ends for the first time, with how it ended and what it printed last. */
  readonly ended: Promise<never>;
  /** SIGKILL to the whole group; it is started again. */
  kill(): void;
  /** SIGTERM to the whole group, then SIGKILL. */
  stop(): Promise<void>;
}

/** How long the driver may take to end after SIGTERM. */
const GRACE_MS = 10_000;
/** Lines quoted when the command ends: the first say what was wrong with the command line, the last how it crashed. */
const QUOTED_LINES = 3;

export function startDriverProcess(
  driver: DriverCommand,
  ports: { clock: Clock; random: Random; log: Log },
): DriverProcess {
  const { clock } = ports;
  const log = ports.log.with({ part: driver.part });
  const ending = new AbortController();
  const { promise: ended, reject } = Promise.withResolvers<never>();
  ended.catch(() => {});
  let current: ChildProcess | undefined;
  const supervised = supervise(
    [
      {
        name: driver.part,
        async run(signal, serving) {
          const child = spawnGroup(driver);
          current = child;
          const printed = followOutput(child, log);
          const exit = exitOf(child);
          const stopped = (): void => void endGroup(child, exit, { clock, log });
          signal.addEventListener('abort', stopped, { once: true });
          serving();
          const how = await exit;
          signal.removeEventListener('abort', stopped);
          if (signal.aborted) return;
          const quoted = [...printed.first, ...(printed.isCut ? ['…'] : []), ...printed.last].join('\n');
          const error = new Error(
            `${driver.command} ${how}${quoted === '' ? '' : `; it printed:\n${quoted}`}`,
          );
          reject(error);
          throw error;
        },
      },
    ],
    { ...ports, signal: ending.signal },
  );
  return {
    ended,
    kill() {
      if (current) killGroup(current, 'SIGKILL');
    },
    async stop() {
      ending.abort(new Error('the driver is stopped'));
      await supervised.ended;
    },
  };
}

function spawnGroup({ command, env }: DriverCommand): ChildProcess {
  const child = spawn('/bin/sh', ['-c', command], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  // A second Ctrl-C ends this process at once, without `stop`.
  const atExit = (): void => killGroup(child, 'SIGKILL');
  process.once('exit', atExit);
  child.once('exit', () => process.off('exit', atExit));
  return child;
}

interface Printed {
  readonly first: string[];
  readonly last: string[];
  /** There were more lines between them. */
  isCut: boolean;
}

/** Logs each line, and collects the first and the last ones. */
function followOutput(child: ChildProcess, log: Log): Printed {
  const printed: Printed = { first: [], last: [], isCut: false };
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      log.info(line);
      if (printed.first.length < QUOTED_LINES) {
        printed.first.push(line);
        return;
      }
      printed.last.push(line);
      if (printed.last.length <= QUOTED_LINES) return;
      printed.last.shift();
      printed.isCut = true;
    });
  }
  return printed;
}

/** In words: `ended with exit code 1`. Resolves after the output was read. */
function exitOf(child: ChildProcess): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  child.once('error', (error) => resolve(`could not be started: ${error.message}`));
  let how = '';
  child.once('exit', (code, signal) => {
    how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
    // What the shell started may outlive it, and keep the output open.
    killGroup(child, 'SIGKILL');
  });
  child.once('close', () => resolve(how));
  return promise;
}

async function endGroup(
  child: ChildProcess,
  exit: Promise<unknown>,
  { clock, log }: { clock: Clock; log: Log },
): Promise<void> {
  const inTime = new AbortController();
  void exit.then(() => inTime.abort());
  killGroup(child, 'SIGTERM');
  await clock.sleep(GRACE_MS, inTime.signal).then(
    () => {
      log.warn(`The driver did not end within ${GRACE_MS / 1000} s of SIGTERM; it is killed`);
      killGroup(child, 'SIGKILL');
    },
    () => {},
  );
}

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
