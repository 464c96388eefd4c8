// Finds what tests left behind: processes with their environment variable, mounts below their directory, and loop
// devices over files in it. All of it belongs to the tests, so it can be cleaned up.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface Tracked {
  /** A `NAME=value` in the environment of every process the tests start. */
  readonly mark: string;
  /** The directory of the tests' files. */
  readonly directory: string;
}

export interface LeftBehind {
  readonly processes: readonly { readonly pid: number; readonly command: string }[];
  readonly mounts: readonly string[];
  readonly loopDevices: readonly { readonly device: string; readonly file: string }[];
}

export function leftBehind(tracked: Tracked): LeftBehind {
  return {
    processes: markedProcesses(tracked.mark),
    mounts: mountsBelow(tracked.directory),
    loopDevices: loopDevicesOf(tracked.directory),
  };
}

export function describeLeftBehind({ processes, mounts, loopDevices }: LeftBehind): string[] {
  return [
    ...processes.map(({ pid, command }) => `process ${pid} still runs: ${command}`),
    ...mounts.map((path) => `${path} is still mounted`),
    ...loopDevices.map(({ device, file }) => `${device} is still attached to ${file}`),
  ];
}

/** Kills, unmounts and detaches it all; what fails is reported by the next run. */
export function clearAway({ processes, mounts, loopDevices }: LeftBehind): void {
  for (const { pid } of processes) attempt(() => process.kill(pid, 'SIGKILL'));
  // Deepest first.
  for (const path of [...mounts].reverse())
    attempt(() => execFileSync('umount', ['-l', path], { stdio: 'ignore' }));
  for (const { device } of loopDevices)
    attempt(() => execFileSync('losetup', ['-d', device], { stdio: 'ignore' }));
}

function attempt(action: () => void): void {
  try {
    action();
  } catch {
    // Gone meanwhile, or not permitted.
  }
}

function markedProcesses(mark: string): { pid: number; command: string }[] {
  return entries('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      const environment = text(`/proc/${name}/environ`).split('\0');
      // A zombie has no command line and need not be killed.
      const command = text(`/proc/${name}/cmdline`).split('\0').join(' ').trim();
      return environment.includes(mark) && command !== '' ? [{ pid: Number(name), command }] : [];
    });
}

function mountsBelow(directory: string): string[] {
  return text('/proc/self/mountinfo')
    .split('\n')
    .map((line) =>
      (line.split(' ')[4] ?? '').replaceAll(/\\([0-7]{3})/g, (_, octal) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    )
    .filter((path) => path === directory || path.startsWith(`${directory}/`));
}

function loopDevicesOf(directory: string): { device: string; file: string }[] {
  return entries('/sys/block')
    .filter((name) => name.startsWith('loop'))
    .flatMap((name) => {
      const file = text(`/sys/block/${name}/loop/backing_file`).trim();
      return file.startsWith(`${directory}/`) ? [{ device: `/dev/${name}`, file }] : [];
    });
}

function entries(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function text(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
