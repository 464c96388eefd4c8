// A process that judges mutants (judge-process.ts), replaced when a test hangs in it, and now and then because failed
// tests leave things behind.
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clearAway, leftBehind } from '../left-behind.ts';
import type { JudgeAnswer, JudgeTask } from './judge-process.ts';

/** Failures in one process before it is replaced. */
const MOST_FAILURES = 20;

const script = fileURLToPath(new URL('./judge-process.ts', import.meta.url));

export interface JudgeOptions {
  readonly cwd: string;
  /** Its processes' files go below this directory. */
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
}

export class Judge {
  readonly #options: JudgeOptions;
  #running: { child: ChildProcess; directory: string; failures: number } | undefined;

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  /** Whether the tests notice the mutant: they fail or hang with it, and pass without it within the same limit. */
  async notices(task: JudgeTask): Promise<boolean> {
    const answer = await this.#run(task);
    if (answer.is === 'passed') return false;
    if (answer.is === 'hung') this.stop();
    const names = answer.is === 'hung' ? task.names : [answer.name];
    const without = await this.#run({ ...task, names, mutant: undefined });
    if (without.is === 'passed') return true;
    this.stop();
    // An earlier mutant has spoilt the process, unless this is the first in it and the limit is too short.
    return answer.is === 'failed' && (await this.#run(task)).is === 'failed';
  }

  stop(): void {
    if (this.#running === undefined) return;
    const { child, directory } = this.#running;
    this.#running = undefined;
    child.kill('SIGKILL');
    clearAway(leftBehind({ mark: `BERTH_TEST_FILE=${directory}`, directory }));
    rmSync(directory, { recursive: true, force: true });
  }

  async #run(task: JudgeTask): Promise<JudgeAnswer> {
    if ((this.#running?.failures ?? 0) >= MOST_FAILURES) this.stop();
    this.#running ??= this.#start();
    const running = this.#running;
    const { child } = running;
    const answer = await new Promise<JudgeAnswer>((resolve) => {
      // For a mutant that never yields. Ample, because the machine may be busy.
      const timer = setTimeout(() => resolve({ is: 'hung' }), 3 * task.limitMs + 60_000);
      const ended = (): void => settle({ is: 'hung' });
      const settle = (result: JudgeAnswer): void => {
        clearTimeout(timer);
        child.off('message', settle).off('exit', ended);
        resolve(result);
      };
      child.once('message', settle).once('exit', ended);
      child.send(task);
    });
    if (answer.is !== 'passed') running.failures += 1;
    return answer;
  }

  #start() {
    const { cwd, env } = this.#options;
    const directory = mkdtempSync(join(this.#options.directory, 'j-'));
    const child = fork(script, {
      cwd,
      env: { ...env, BERTH_TEST_FILE: directory, TMPDIR: directory },
      execArgv: ['--test-reporter', script],
      stdio: ['ignore', 'ignore', process.env.BERTH_JUDGE_DEBUG ? 'inherit' : 'ignore', 'ipc'],
    });
    return { child, directory, failures: 0 };
  }
}
