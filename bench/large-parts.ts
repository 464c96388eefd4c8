// Starts a part of the control plane beside many volumes: CPU time until it has synced, memory when nothing happens any more, and the
// longest pause of its event loop. It has synced when it has done a piece of work that was waiting.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realClock } from '../src/runtime/time/clock.ts';
import { processUsage } from './process-usage.ts';
import type { PendingWork, Sidecar, SidecarWork } from './sidecar-work.ts';

const BERTH = fileURLToPath(new URL('../bin/berth', import.meta.url));
const LOOP_BLOCKS = new URL('./loop-blocks.ts', import.meta.url).href;

/** Less CPU time in a second than this, for `REST_S` seconds: at rest. Watches, Leases and garbage collection go on. */
const REST_CPU_MS = 30;
const REST_S = 10;
const PATIENCE_S = 600;

/** Nothing but the program and its subcommand: the flags are added. */
export interface Program {
  readonly argv: readonly string[];
  /** What it does, to give it work of each kind. */
  readonly sidecars: readonly Sidecar[];
}

export interface PartFigures {
  readonly syncedMs: number;
  readonly cpuMs: number;
  readonly restMegabytes: number;
  readonly peakMegabytes: number;
}

export class PartMeasurement {
  readonly #work: SidecarWork;
  readonly #blocksFile: string;
  readonly #flags: readonly string[];

  constructor(
    work: SidecarWork,
    { socket, kubeconfig, directory }: { socket: string; kubeconfig: string; directory: string },
  ) {
    this.#work = work;
    this.#blocksFile = join(directory, 'blocks');
    this.#flags = [`--csi-address=${socket}`, `--kubeconfig=${kubeconfig}`];
  }

  berth(...argv: readonly string[]): readonly string[] {
    return [process.execPath, BERTH, ...argv];
  }

  async figures(program: Program): Promise<PartFigures> {
    const { child, syncedMs } = await this.#synced(program);
    try {
      const cpuMs = await atRest(child.pid as number);
      const usage = processUsage(child.pid as number);
      return {
        syncedMs,
        cpuMs,
        restMegabytes: (usage?.memoryBytes ?? 0) / 1e6,
        peakMegabytes: (usage?.peakMemoryBytes ?? 0) / 1e6,
      };
    } finally {
      await ended(child, 'SIGTERM');
    }
  }

  /** Of a Node program, in CPU milliseconds. A start of its own, because measuring costs CPU time, too. */
  async longestPauseMs({ argv, sidecars }: Program): Promise<number> {
    const [node = '', ...rest] = argv;
    const measured = { argv: [node, '--import', LOOP_BLOCKS, ...rest], sidecars };
    const { child } = await this.#synced(measured, { BENCH_BLOCKS: this.#blocksFile });
    await ended(child, 'SIGTERM');
    return Number(await readFile(this.#blocksFile, 'utf8'));
  }

  async #synced(
    { argv, sidecars }: Program,
    env: Readonly<Record<string, string>> = {},
  ): Promise<{ child: ChildProcess; syncedMs: number }> {
    const pending: PendingWork[] = [];
    for (const sidecar of sidecars) pending.push(await this.#work.prepare(sidecar));
    const [program = '', ...rest] = [...argv, ...this.#flags, ...pending.flatMap(({ flags }) => flags)];
    const output = process.env.BENCH_OUTPUT ? 'inherit' : 'ignore';
    const startMs = performance.now();
    const child = spawn(program, rest, {
      stdio: ['ignore', output, output],
      env: { ...process.env, ...env },
    });
    try {
      await Promise.all(pending.map(({ done }) => done()));
      return { child, syncedMs: performance.now() - startMs };
    } catch (error) {
      await ended(child, 'SIGKILL');
      throw new Error(`${argv.join(' ')} did not do its work: ${(error as Error).message}`);
    }
  }
}

/** CPU time until it had come to rest. */
async function atRest(pid: number): Promise<number> {
  let lastMs = processUsage(pid)?.cpuMs ?? 0;
  let restingSinceMs = lastMs;
  let restedS = 0;
  for (let second = 0; second < PATIENCE_S && restedS < REST_S; second++) {
    await realClock.sleep(1000);
    const nowMs = processUsage(pid)?.cpuMs ?? 0;
    if (nowMs - lastMs < REST_CPU_MS) restedS++;
    else {
      restedS = 0;
      restingSinceMs = nowMs;
    }
    lastMs = nowMs;
  }
  return restingSinceMs;
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
