// For tests of whole sidecars: an API server behind HTTPS with a kubeconfig, a scripted driver on a real socket that
// can be stopped and started, and sidecars in this process or in one of their own.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createApiServer } from '../../apiserver/index.ts';
import { quietLog } from '../../apiserver/testing/test-server.ts';
import { type CsiServer, serveCsi } from '../../csi/server/serve-csi.ts';
import type { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import type { FlagTable } from '../../runtime/flags/flag.ts';
import { parseFlags } from '../../runtime/flags/parse-flags.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { type MemoryLog, memoryLog, silentLog } from '../../runtime/log/log.ts';
import { realRandom, seededRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { commonFlags } from '../common/common-flags.ts';
import { runSidecar } from '../common/run-sidecar.ts';
import type { SidecarFlags, SidecarKind } from '../common/sidecar.ts';

const berth = fileURLToPath(new URL('../../../bin/berth', import.meta.url));

export interface SidecarRig {
  directory: string;
  socket: string;
  kubeconfig: string;
  admin: KubeClient;
  serve(driver: ScriptedDriver): Promise<CsiServer>;
  /** In this process. `ended` rejects as the command would fail. */
  run<T extends FlagTable>(
    kind: SidecarKind<T>,
    argv?: string[],
  ): { ended: Promise<void>; stop(): Promise<void>; log: MemoryLog };
  /** `berth COMMAND …` in a process of its own, connected to the socket and the server. */
  spawn(command: string, argv?: string[]): SidecarProcess;
  /** The same of a command that speaks to no driver. */
  spawnPlain(command: string, argv?: string[]): SidecarProcess;
}

export interface SidecarProcess {
  readonly child: ChildProcess;
  /** Standard error so far. */
  output(): string;
  /** Resolves once standard error contains the text. */
  said(text: string): Promise<void>;
  readonly exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export async function sidecarRig(t: Pick<TestContext, 'after'>): Promise<SidecarRig> {
  const directory = await mkdtemp(join(tmpdir(), 'sc-'));
  const socket = join(directory, 'csi.sock');
  const kubeconfig = join(directory, 'kubeconfig');
  const server = await createApiServer({
    clock: realClock,
    random: seededRandom('rig'),
    log: quietLog,
    kubeconfigPath: kubeconfig,
  });
  const cleanUps: (() => unknown)[] = [];
  t.after(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });
  const start = (argv: string[]): SidecarProcess => {
    const child = spawn(process.execPath, [berth, ...argv], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, KUBECONFIG: kubeconfig },
    });
    const exit = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
    cleanUps.push(async () => {
      child.kill('SIGKILL');
      await exit;
    });
    return { child, exit, ...outputOf(child) };
  };
  return {
    directory,
    socket,
    kubeconfig,
    admin: server.client(server.adminUser),
    async serve(driver) {
      const served = await serveCsi({
        address: socket,
        services: driver.services,
        interceptors: [driver.interceptor],
        clock: realClock,
        log: silentLog,
      });
      cleanUps.push(() => served.stop(0));
      return served;
    },
    run(kind, argv = []) {
      const stop = new AbortController();
      const log = memoryLog();
      const { values } = parseFlags({
        table: { ...commonFlags, ...kind.flags },
        argv: [`--csi-address=${socket}`, `--kubeconfig=${kubeconfig}`, ...argv],
      });
      const context = {
        clock: realClock,
        random: realRandom,
        log,
        env: {},
        hostname: 'test',
        userAgent: 'test',
      };
      const flags = values as unknown as SidecarFlags<typeof kind.flags> & { timeoutMs: number };
      const ended = runSidecar(kind, flags, { ...context, signal: stop.signal });
      ended.catch(() => {});
      const end = async () => {
        stop.abort(new Error('the test stops the sidecar'));
        await ended.catch(() => {});
      };
      cleanUps.push(end);
      return { ended, stop: end, log };
    },
    spawn: (command, argv = []) => start([command, `--csi-address=${socket}`, ...argv]),
    spawnPlain: (command, argv = []) => start([command, ...argv]),
  };
}

function outputOf(child: ChildProcess): Pick<SidecarProcess, 'output' | 'said'> {
  let text = '';
  let look = () => {};
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    look();
  });
  return {
    output: () => text,
    said: (wanted) =>
      new Promise((resolve, reject) => {
        const before = look;
        look = () => {
          before();
          if (text.includes(wanted)) resolve();
        };
        child.once('exit', () => reject(new Error(`ended before it said "${wanted}":\n${text}`)));
        look();
      }),
  };
}
