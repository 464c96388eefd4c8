// Ends what a real node has running and mounted: kubelet, containerd, every container, its cgroups, its network and its mounts.
// The same after Ctrl-C and at the start after a crash, so it trusts no record: it finds processes by their command line, which
// names the data directory, and by their cgroup.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, readlink, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Mounter } from '../../runtime/mount/mounter.ts';
import type { Clock } from '../../runtime/ports.ts';
import { unmountBelow } from '../unmount-below.ts';
import type { KubeletHome } from './kubelet-plan.ts';
import { closeBridge } from './pod-network.ts';

const run = promisify(execFile);

/** Time for programs and containers to end by themselves. */
const GRACE_MS = 2_000;
const LOOK_MS = 50;
const CGROUPS = '/sys/fs/cgroup';
/** The kubelet links every container's log here, whatever its configuration says. */
const LOG_LINKS = '/var/log/containers';

interface FoundProcess {
  readonly pid: number;
  readonly parent: number;
  readonly args: readonly string[];
}

/** Whether a real node ever ran in this data directory. */
export const hasLeftovers = (home: KubeletHome): boolean => existsSync(home.path);

/** Resolves with what could not be ended, in words. */
export async function endLeftovers(
  home: KubeletHome,
  { mounter, clock }: { mounter: Mounter; clock: Clock },
): Promise<string[]> {
  const programs = await processesOf(home);
  // The kubelet first: it would start again what ends. Then containerd, which would clean up only in part.
  for (const file of [home.kubeletConfig, home.containerdConfig]) {
    await end(
      programs.filter(({ args }) => args.some((arg) => arg.includes(file))).map(({ pid }) => pid),
      clock,
    );
  }
  const shims = (await processesOf(home)).map(({ pid }) => pid);
  const containers = new Set([...(await descendantsOf(shims)), ...(await processesIn(home.cgroup))]);
  await end([...containers], clock);
  await removeShimSockets(home);
  await end(shims, clock);
  const left = (await processesOf(home)).map(
    ({ pid, args }) => `process ${pid} (${args[0]}) could not be ended`,
  );
  const busy = await unmountBelow(home.path, { mounter, keep: new Set(), except: '' });
  left.push(...busy.map(({ path, why }) => `${path} is still mounted: ${why}`));
  await removeCgroups(home.cgroup, clock);
  await removeMasquerading(home.bridge);
  await closeBridge(home.bridge);
  await removeLogLinks(home);
  // Addresses of pods whose network was not taken down by its plugin.
  await rm(home.cniState, { recursive: true, force: true });
  return left;
}

async function allProcesses(): Promise<FoundProcess[]> {
  const found: FoundProcess[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const args = (await readFile(`/proc/${name}/cmdline`, 'utf8')).split('\0');
      const status = await readFile(`/proc/${name}/stat`, 'utf8');
      // After the program's name, which may contain anything: state, then parent.
      const [state, parent] = status.slice(status.lastIndexOf(')') + 2).split(' ');
      if (state !== 'Z') found.push({ pid: Number(name), parent: Number(parent), args });
    } catch {
      // It has ended.
    }
  }
  return found;
}

/** kubelet, containerd and its shims, one per pod: each was told a file or socket of this data directory. */
async function processesOf(home: KubeletHome): Promise<FoundProcess[]> {
  const own = [home.kubeletConfig, home.containerdConfig, home.containerdSocket];
  const all = await allProcesses();
  return all.filter(
    ({ pid, args }) =>
      pid !== process.pid &&
      args.slice(1).some((arg) => own.some((file) => arg === file || arg.endsWith(`=${file}`))),
  );
}

async function descendantsOf(roots: readonly number[]): Promise<number[]> {
  const all = await allProcesses();
  const found = new Set(roots);
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return [...found].filter((pid) => !roots.includes(pid));
}

/** SIGTERM, and SIGKILL for what does not end in time. */
async function end(pids: readonly number[], clock: Clock): Promise<void> {
  if (pids.length === 0) return;
  const signal = (name: 'SIGTERM' | 'SIGKILL'): void => {
    for (const pid of pids) {
      try {
        process.kill(pid, name);
      } catch {
        // It has ended.
      }
    }
  };
  const alive = async (): Promise<boolean> => {
    const running = new Set((await allProcesses()).map(({ pid }) => pid));
    return pids.some((pid) => running.has(pid));
  };
  for (const name of ['SIGTERM', 'SIGKILL'] as const) {
    signal(name);
    const untilMs = clock.monotonicMs() + GRACE_MS;
    while (await alive()) {
      if (clock.monotonicMs() >= untilMs) break;
      await clock.sleep(LOOK_MS);
    }
  }
}

/** One directory per hierarchy with cgroup v1, one in all with v2. */
async function cgroupDirectories(cgroup: string): Promise<string[]> {
  const hierarchies = await readdir(CGROUPS).catch(() => []);
  return [join(CGROUPS, cgroup), ...hierarchies.map((each) => join(CGROUPS, each, cgroup))].filter((path) =>
    existsSync(path),
  );
}

async function below(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
}

async function processesIn(cgroup: string): Promise<number[]> {
  const found: number[] = [];
  for (const root of await cgroupDirectories(cgroup)) {
    for (const directory of [root, ...(await below(root))]) {
      const text = await readFile(join(directory, 'cgroup.procs'), 'utf8').catch(() => '');
      found.push(...text.split('\n').filter(Boolean).map(Number));
    }
  }
  return found;
}

/** A cgroup cannot be removed until the kernel has let its last process go. */
async function removeCgroups(cgroup: string, clock: Clock): Promise<void> {
  const untilMs = clock.monotonicMs() + GRACE_MS;
  for (;;) {
    const roots = await cgroupDirectories(cgroup);
    if (roots.length === 0) return;
    for (const root of roots) {
      const all = [root, ...(await below(root).catch(() => []))];
      for (const directory of all.toSorted((a, b) => b.length - a.length))
        await rmdir(directory).catch(() => {});
    }
    if (clock.monotonicMs() >= untilMs) return;
    if ((await cgroupDirectories(cgroup)).length > 0) await clock.sleep(LOOK_MS);
  }
}

/** containerd puts them into /run/containerd/s, whatever its configuration says. */
async function removeShimSockets({ containerdState }: KubeletHome): Promise<void> {
  const tasks = join(containerdState, 'io.containerd.runtime.v2.task', 'k8s.io');
  for (const id of await readdir(tasks).catch(() => [])) {
    const address = await readFile(join(tasks, id, 'address'), 'utf8').catch(() => '');
    const path = address.trim().replace(/^unix:\/\//, '');
    if (path.startsWith('/run/containerd/s/')) await rm(path, { force: true });
  }
}

/** Rules that the bridge plugin made for a pod are removed by it when the pod ends, and by nobody when it was killed. */
async function removeMasquerading(bridge: string): Promise<void> {
  const listed = await run('iptables', ['-t', 'nat', '-S']).catch(() => undefined);
  if (listed === undefined) return;
  const rules = listed.stdout.split('\n').filter((line) => line.includes(`name: \\"${bridge}\\"`));
  for (const rule of rules.filter((line) => line.startsWith('-A '))) {
    const args = (rule.match(/"(?:\\.|[^"])*"|\S+/g) ?? []).map((arg) =>
      arg.startsWith('"') ? arg.slice(1, -1).replaceAll('\\"', '"') : arg,
    );
    await run('iptables', ['-t', 'nat', '-D', ...args.slice(1)]).catch(() => {});
  }
  // The chains of those rules, one per pod.
  const chains = new Set(
    rules.map((rule) => /-j (CNI-[0-9a-f]+)/.exec(rule)?.[1]).filter((each) => each !== undefined),
  );
  for (const chain of chains) {
    await run('iptables', ['-t', 'nat', '-F', chain]).catch(() => {});
    await run('iptables', ['-t', 'nat', '-X', chain]).catch(() => {});
  }
}

async function removeLogLinks({ podLogs }: KubeletHome): Promise<void> {
  for (const name of await readdir(LOG_LINKS).catch(() => [])) {
    const link = join(LOG_LINKS, name);
    const target = await readlink(link).catch(() => '');
    if (target.startsWith(`${podLogs}/`)) await rm(link, { force: true });
  }
}
