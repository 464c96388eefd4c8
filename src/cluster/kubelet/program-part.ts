// One program of a real node as a part of the cluster: started, waited for, and ended with it. Its output goes to a file; when it
// ends by itself, the error carries the last lines that say why.

import { spawn } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import type { Clock } from '../../runtime/ports.ts';
import type { Part } from '../../runtime/process/supervise.ts';
import { aborted } from '../../runtime/time/until-aborted.ts';
import { KubeletError } from './kubelet-programs.ts';

export interface Program {
  readonly name: string;
  readonly path: string;
  readonly args: readonly string[];
  readonly log: string;
  /** Resolves when it does its work. */
  serves(signal: AbortSignal): Promise<void>;
}

/** Lines of klog and containerd that are errors. */
const ERROR_LINE = /^[EF]\d{4} |level=(error|fatal)|^containerd: |failed to run Kubelet/;
const MOST_LINES = 3;
/** Neither program takes a second unless it hangs. */
const END_MS = 5_000;
const TAIL_BYTES = 64 * 1024;

export function programPart(program: Program, { clock }: { clock: Clock }): Part {
  const { name, path, args, log, serves } = program;
  return {
    name,
    async run(signal, serving) {
      await using output = await open(log, 'w', 0o600);
      const child = spawn(path, args, {
        stdio: ['ignore', output.fd, output.fd],
        // In a session of its own: Ctrl-C is for Berth, which ends it in order.
        detached: true,
      });
      const over = new AbortController();
      const ended = new Promise<string>((resolve) => {
        child.once('error', (error) => resolve(error.message));
        child.once('exit', (code, by) => resolve(by === null ? `exit code ${code}` : `killed by ${by}`));
      });
      const stopped = aborted(signal).then(() => 'stopped');
      serves(AbortSignal.any([signal, over.signal])).then(serving, () => {});
      const how = await Promise.race([ended, stopped]);
      over.abort(new Error(`${name} has ended`));
      if (signal.aborted) {
        child.kill('SIGTERM');
        await Promise.race([ended, clock.sleep(END_MS)]);
        child.kill('SIGKILL');
        await ended;
        return;
      }
      // What it said before it was killed has nothing to do with its end.
      const why = how.startsWith('killed') ? '' : `: ${await lastErrors(log)}`;
      throw new KubeletError(`${name} ended (${how})${why}; its whole output is in ${log}`);
    },
  };
}

async function lastErrors(log: string): Promise<string> {
  const text = (await readFile(log, 'utf8')).slice(-TAIL_BYTES);
  const lines = text.trim().split('\n');
  const errors = lines.filter((line) => ERROR_LINE.test(line));
  return (errors.length > 0 ? errors : lines).slice(-MOST_LINES).join(' | ') || 'it said nothing';
}
